package schema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"pinion/runtime/rawjson"
)

// Schema is a compiled input schema.
type Schema struct {
	fields  []field // in the order of declaration
	byName  []int   // indices of fields, sorted by name
	root    *node   // the constraints on the whole input, or nil
	files   bool    // a field may name files
	secrets bool    // a field may have secrets
	open    bool    // to members that are not fields, which pass unchecked

	unchecked []string
	stream    *Stream // nil if there is no streamed input
}

// field is one property of the input.
type field struct {
	name     string
	node     *node
	required bool
	addNull  bool // an absent value becomes null

	mayBeAbsent bool // and has no default in the schema
}

// Unchecked says which parts of the component are not checked, and why: each by its place. Compile leaves out what it
// cannot use, and names the first 16.
func (s *Schema) Unchecked() []string { return s.unchecked }

// Compile compiles the named component ("Input", "TrainingInput") of a model's OpenAPI document.
func Compile(openapi []byte, component string) (*Schema, error) {
	d, err := readDocument(openapi)
	if err != nil {
		return nil, err
	}
	s, err := compile(d, component)
	if err != nil {
		return nil, fmt.Errorf("compile schema of %s: %w", component, err)
	}
	return s, nil
}

func compile(d *document, component string) (*Schema, error) {
	m, err := d.inputComponent(component)
	if err != nil {
		return nil, err
	}
	d.place = []string{component}
	properties, _ := m["properties"].(map[string]any)
	required := d.required(newNode(), m)
	s := &Schema{}
	d.enter("properties")
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		n := d.compileAt(name, properties[name])
		s.fields = append(s.fields, field{name: name, node: n, required: slices.Contains(required, name)})
	}
	d.leave()
	for _, name := range required {
		if _, ok := properties[name]; !ok {
			s.fields = append(s.fields, field{name: name, node: newNode(), required: true})
		}
	}
	slices.SortStableFunc(s.fields, func(a, b field) int {
		return cmp.Or(cmp.Compare(order(properties[a.name]), order(properties[b.name])),
			cmp.Compare(place(required, a.name), place(required, b.name)))
	})
	s.open = m["additionalProperties"] == true
	s.root = d.compileRoot(m)
	s.unchecked = d.unchecked
	var nodes []*node
	if s.root != nil {
		nodes = append(nodes, s.root)
	}
	for i := range s.fields {
		nodes = append(nodes, s.fields[i].node)
		s.byName = append(s.byName, i)
	}
	if _, endless := mark(nodes); endless {
		return nil, fmt.Errorf("a schema contains itself")
	}
	slices.SortFunc(s.byName, func(a, b int) int { return strings.Compare(s.fields[a].name, s.fields[b].name) })
	for i := range s.fields {
		f := &s.fields[i]
		m, _ := properties[f.name].(map[string]any)
		f.mayBeAbsent = !f.required && m["default"] == nil
		f.addNull = f.mayBeAbsent && f.node.saysNull()
		s.files = s.files || f.node.hasURI
		s.secrets = s.secrets || f.node.hasSecret
	}
	for i := range s.fields {
		if m, _ := properties[s.fields[i].name].(map[string]any); m["x-cog-stream"] == true {
			s.compileStream(i, m, d)
		}
	}
	return s, nil
}

// inputComponent returns the component, which may be a reference to another.
func (d *document) inputComponent(component string) (map[string]any, error) {
	schema, ok := d.schemas[component]
	if !ok {
		return nil, fmt.Errorf("the document has no such component")
	}
	for range len(d.schemas) + 1 {
		m, ok := schema.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("not an object")
		}
		ref, ok := m["$ref"]
		if !ok {
			return m, nil
		}
		var err error
		if _, schema, err = d.component(ref); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("a schema contains itself")
}

// compileRoot compiles the component's keywords besides its fields, or nil.
func (d *document) compileRoot(m map[string]any) *node {
	rest := map[string]any{}
	for keyword, v := range m {
		switch keyword {
		case "type", "properties", "required", "additionalProperties", "nullable":
		default:
			if !annotation(keyword) {
				rest[keyword] = v
			}
		}
	}
	if len(rest) == 0 {
		return nil
	}
	return d.compile(rest)
}

// saysNull reports whether a schema names null as a value, itself or by reference. A schema without a type does not
// count.
func (n *node) saysNull() bool {
	return n.nullable || n.types.kinds&(1<<rawjson.KindNull) != 0 ||
		n.types.kinds == 0 && len(n.allOf) == 1 && n.allOf[0].saysNull()
}

// order returns the position of a property in the signature.
func order(schema any) float64 {
	m, _ := schema.(map[string]any)
	number, _ := m["x-order"].(json.Number)
	if at, err := number.Float64(); err == nil {
		return at
	}
	return math.Inf(1)
}
