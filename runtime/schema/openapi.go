package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"pinion/runtime/rawjson"
)

// document is the part of an OpenAPI document that schemas need.
type document struct {
	schemas map[string]any // components.schemas; numbers are json.Number
	// modern means that the document is of OpenAPI 3.1, where keywords beside a $ref count. In 3.0 they are ignored.
	modern bool
	nodes  map[string]*node // compiled components

	place     []string // of what is being compiled: a component and keywords below it
	unchecked []string // what was left out, and why; at most maxUnchecked
}

// maxUnchecked bounds how many parts are named that are not checked.
const maxUnchecked = 16

const refPrefix = "#/components/schemas/"

func readDocument(openapi []byte) (*document, error) {
	d, err := ReadDocument[any](openapi)
	if err != nil {
		return nil, fmt.Errorf("read OpenAPI document: %w", err)
	}
	return &document{
		schemas: d.Schemas,
		modern:  d.Version != "" && !strings.HasPrefix(d.Version, "3.0"),
		nodes:   map[string]*node{},
	}, nil
}

// component returns the component of a reference.
func (d *document) component(ref any) (name string, schema any, err error) {
	text, _ := ref.(string)
	name, ok := strings.CutPrefix(text, refPrefix)
	schema, found := d.schemas[name]
	if !ok || !found {
		return "", nil, fmt.Errorf("reference %s leads to no component", jsonText(ref))
	}
	return name, schema, nil
}

// reference returns the node of a component, and compiles it at the first use. In a schema that refers to itself it may
// not be filled yet; see mark.
func (d *document) reference(ref any) (*node, error) {
	name, schema, err := d.component(ref)
	if err != nil {
		return nil, err
	}
	if n, ok := d.nodes[name]; ok {
		return n, nil
	}
	n := newNode()
	d.nodes[name] = n
	around := d.place
	d.place = []string{name}
	d.fill(n, schema)
	d.place = around
	return n, nil
}

func (d *document) compile(schema any) *node {
	n := newNode()
	d.fill(n, schema)
	return n
}

// compileAt compiles the schema of that name or index below the place that is being compiled.
func (d *document) compileAt(name string, schema any) *node {
	d.enter(name)
	defer d.leave()
	return d.compile(schema)
}

func (d *document) enter(name string) { d.place = append(d.place, name) }

func (d *document) leave() { d.place = d.place[:len(d.place)-1] }

// leaveOut notes that a part of n's schema is not checked. Such a node accepts more than the schema says.
func (d *document) leaveOut(n *node, err error) {
	n.loose = true
	if len(d.unchecked) < maxUnchecked {
		d.unchecked = append(d.unchecked, strings.Join(d.place, "/")+": "+err.Error())
	}
}

func (d *document) compileAll(v any) ([]*node, error) {
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		return nil, fmt.Errorf("%s is not a list of schemas", jsonText(v))
	}
	nodes := make([]*node, len(list))
	for i, schema := range list {
		nodes[i] = d.compileAt(strconv.Itoa(i), schema)
	}
	return nodes, nil
}

// fill compiles schema into n, without the keywords that cannot be used.
func (d *document) fill(n *node, schema any) {
	m, ok := schema.(map[string]any)
	if !ok {
		if schema != true {
			d.leaveOut(n, fmt.Errorf("%s is not a schema", jsonText(schema)))
		}
		return
	}
	n.nullable = m["nullable"] == true
	if ref, ok := m["$ref"]; ok {
		target, err := d.reference(ref)
		if err != nil {
			d.leaveOut(n, err)
		} else {
			n.allOf = append(n.allOf, target)
		}
		if !d.modern {
			return
		}
	}
	closed := true
	for _, keyword := range slices.Sorted(maps.Keys(m)) { // in a fixed order, for messages
		before := n.clone()
		d.enter(keyword)
		if err := d.keyword(n, m, keyword); err != nil {
			*n = before
			d.leaveOut(n, err)
			switch keyword { // others are for what this one does not name, and would refuse what it allows
			case "patternProperties":
				closed = false
			case "prefixItems":
				n.items = nil
			}
		}
		d.leave()
	}
	d.object(n, m, closed)
}

// keyword compiles one keyword of m into n.
func (d *document) keyword(n *node, m map[string]any, keyword string) (err error) {
	v := m[keyword]
	switch keyword {
	case "type":
		n.types, err = compileTypes(v)
	case "const":
		err = n.compileEnum([]any{v})
	case "enum":
		if _, ok := m["const"]; !ok { // pydantic 2.8 writes both for one value
			err = n.compileEnum(v)
		}
	case "format":
		switch v {
		case "uri":
			n.format = fileURL
		case "byte":
			n.format = base64Text
		}
		n.secret = n.secret || v == "password"
	case "x-cog-stream": // items are compiled before it
		n.fromFile = v == true && n.items != nil && n.items.format == base64Text
	case "x-cog-secret":
		n.secret = n.secret || v == true
	case "minimum", "maximum":
		err = n.compileBound(v, keyword == "maximum", false)
	case "exclusiveMinimum", "exclusiveMaximum":
		err = n.compileBound(v, keyword == "exclusiveMaximum", true)
	case "minLength":
		n.minLength, err = compileSize(v)
	case "maxLength":
		n.maxLength, err = compileSize(v)
	case "minItems":
		n.minItems, err = compileSize(v)
	case "maxItems":
		n.maxItems, err = compileSize(v)
	case "pattern":
		text, ok := v.(string)
		if !ok {
			return fmt.Errorf("%s is not a string", jsonText(v))
		}
		n.pattern, err = compilePattern(text)
	case "items":
		if _, ok := v.([]any); ok { // a tuple of pydantic 1
			return d.rareKeyword(n, "prefixItems", v)
		}
		if anything, ok := v.(map[string]any); !ok || len(anything) > 0 {
			n.items = d.compile(v)
		}
	case "allOf":
		var parts []*node
		parts, err = d.compileAll(v)
		n.allOf = append(n.allOf, parts...)
	case "anyOf":
		branches, nullable := withoutNull(v)
		n.nullable = n.nullable || nullable
		n.anyOf, err = d.compileAll(branches)
		if nullable && len(n.anyOf) == 1 { // a single branch: its messages are more specific
			n.allOf, n.anyOf = append(n.allOf, n.anyOf...), nil
		}
	case "properties", "required", "additionalProperties", "$ref", "nullable": // see object, fill
	default:
		if !annotation(keyword) {
			err = d.rareKeyword(n, keyword, v)
		}
	}
	return err
}

// annotation reports whether a keyword does not restrict values.
func annotation(keyword string) bool {
	switch keyword {
	case "title", "description", "default", "deprecated", "example", "examples", "readOnly", "writeOnly",
		"discriminator", "xml", "externalDocs", "contentMediaType", "contentEncoding", "contentSchema",
		"$comment", "$id", "$schema":
		return true
	}
	return strings.HasPrefix(keyword, "x-")
}

func compileTypes(v any) (types, error) {
	names, err := stringList(v)
	if s, ok := v.(string); ok {
		names, err = []string{s}, nil
	}
	t := types{names: names, whole: true}
	for _, name := range names {
		if name == "integer" {
			t.kinds |= 1 << rawjson.KindNumber
			continue
		}
		if name == "number" {
			t.whole = false
		}
		bit := uint16(0)
		for k := rawjson.KindNull; k <= rawjson.KindObject; k++ {
			if k.String() == name {
				bit = 1 << k
			}
		}
		if bit == 0 {
			return t, fmt.Errorf("unknown type %q", name)
		}
		t.kinds |= bit
	}
	return t, err
}

func (n *node) compileEnum(v any) error {
	list, ok := v.([]any)
	if !ok {
		return fmt.Errorf("%s is not a list", jsonText(v))
	}
	n.enum = make([]any, len(list))
	for i, option := range list {
		n.enum[i] = option
		switch option.(type) {
		case []any, map[string]any:
			n.enum[i] = compound{option, canonical([]byte(jsonText(option)))}
		}
	}
	return nil
}

func (n *node) compileBound(v any, upper, exclusive bool) error {
	number, ok := v.(json.Number)
	if !ok {
		return fmt.Errorf("%s is not a number", jsonText(v))
	}
	n.bounds = append(n.bounds, bound{string(number), parseDecimal([]byte(number)), upper, exclusive})
	return nil
}

// compileSize reads a length, at most the largest int.
func compileSize(v any) (int, error) {
	number, _ := v.(json.Number)
	d := parseDecimal([]byte(number))
	if number == "" || d.negative || !d.isInteger() {
		return -1, fmt.Errorf("%s is not a length", jsonText(v))
	}
	f, err := strconv.ParseFloat(string(number), 64)
	if err != nil || f > 1<<62 {
		return 1 << 62, nil
	}
	return int(f), nil
}

// withoutNull removes the branch {"type": "null"} from an anyOf.
func withoutNull(v any) (branches any, nullable bool) {
	list, ok := v.([]any)
	if !ok {
		return v, false
	}
	var rest []any
	for _, branch := range list {
		if m, ok := branch.(map[string]any); ok && len(m) == 1 && m["type"] == "null" {
			nullable = true
			continue
		}
		rest = append(rest, branch)
	}
	if !nullable || len(rest) == 0 {
		return v, false
	}
	return rest, true
}

func stringList(v any) ([]string, error) {
	if v == nil {
		return nil, nil
	}
	list, ok := v.([]any)
	names := make([]string, 0, len(list))
	for _, item := range list {
		name, isString := item.(string)
		ok = ok && isString
		names = append(names, name)
	}
	if !ok {
		return nil, fmt.Errorf("%s is not a list of names", jsonText(v))
	}
	return names, nil
}
