package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
)

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

// rareKeyword compiles a keyword that the SDK never writes. By JSON Schema, unknown words are ignored. A known but
// unsupported keyword is an error, because a model must not get a value that its schema forbids.
func (d *document) rareKeyword(n *node, keyword string, v any) (err error) {
	k := n.rare
	if k == nil {
		k = newRare()
	}
	switch keyword {
	case "const":
		k.constText = jsonText(v)
		k.constant = canonical([]byte(k.constText))
	case "multipleOf":
		number, _ := v.(json.Number)
		value := new(big.Rat)
		if number != "" && !huge([]byte(number)) {
			value.SetString(string(number)) // stays 0 after an error
		}
		if value.Sign() <= 0 {
			return fmt.Errorf("%s is not a number above 0", jsonText(v))
		}
		k.multipleOf, k.multipleOfText = value, string(number)
	case "uniqueItems":
		k.unique = v == true
	case "prefixItems":
		k.prefix, err = d.compileAll(keyword, v)
	case "contains":
		k.contains, err = d.compile(v)
	case "minContains":
		k.minContains, err = compileSize(v)
	case "maxContains":
		k.maxContains, err = compileSize(v)
	case "minProperties":
		k.minProperties, err = compileSize(v)
	case "maxProperties":
		k.maxProperties, err = compileSize(v)
	case "patternProperties":
		k.patterns, err = d.compilePatterns(v)
	case "propertyNames":
		k.names, err = d.compile(v)
	case "dependentRequired":
		k.dependentRequired, err = compileDependencies(v)
	case "dependentSchemas":
		k.dependentSchemas, err = d.compileNamed(v)
	case "oneOf":
		k.oneOf, err = d.compileAll(keyword, v)
	case "not":
		k.not, err = d.compile(v)
	case "if":
		k.when, err = d.compile(v)
	case "then":
		k.then, err = d.compile(v)
	case "else":
		k.otherwise, err = d.compile(v)
	case "additionalItems", "dependencies", "unevaluatedItems", "unevaluatedProperties", "$dynamicRef", "$recursiveRef":
		return fmt.Errorf("the keyword is not supported")
	default:
		return nil
	}
	n.rare = k
	return err
}

// compileNamed compiles a map of schemas, sorted by name.
func (d *document) compileNamed(v any) ([]property, error) {
	m, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s is not a map of schemas", jsonText(v))
	}
	var list []property
	for _, name := range slices.Sorted(maps.Keys(m)) {
		n, err := d.compile(m[name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		list = append(list, property{name, n})
	}
	return list, nil
}

func (d *document) compilePatterns(v any) ([]patternProperty, error) {
	named, err := d.compileNamed(v)
	if err != nil {
		return nil, err
	}
	list := make([]patternProperty, len(named))
	for i, p := range named {
		list[i].node = p.node
		if list[i].pattern, err = compilePattern(p.name); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func compileDependencies(v any) ([]dependency, error) {
	m, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s is not a map of lists", jsonText(v))
	}
	var list []dependency
	for _, name := range slices.Sorted(maps.Keys(m)) {
		required, err := stringList(m[name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		list = append(list, dependency{name, required})
	}
	return list, nil
}

// object compiles properties, required and additionalProperties, which belong together.
func (d *document) object(n *node, m map[string]any) error {
	required, err := stringList(m["required"])
	if err != nil {
		return fmt.Errorf("required: %w", err)
	}
	if v, ok := m["properties"]; ok {
		if n.properties, err = d.compileNamed(v); err != nil {
			return fmt.Errorf("properties/%w", err)
		}
	}
	slices.SortStableFunc(n.properties, func(a, b property) int {
		return place(required, a.name) - place(required, b.name)
	})
	for _, name := range required {
		i := slices.IndexFunc(n.properties, func(p property) bool { return p.name == name })
		if i >= 0 && i < 64 {
			n.required |= 1 << i
			continue
		}
		if n.rare == nil {
			n.rare = newRare()
		}
		n.rare.required = append(n.rare.required, name)
	}
	switch additional := m["additionalProperties"].(type) {
	case nil:
	case bool:
		n.closed = !additional
	default:
		if n.additional, err = d.compile(additional); err != nil {
			return fmt.Errorf("additionalProperties: %w", err)
		}
	}
	return nil
}

// place returns the index of s in list, or the length of list.
func place(list []string, s string) int {
	if i := slices.Index(list, s); i >= 0 {
		return i
	}
	return len(list)
}
