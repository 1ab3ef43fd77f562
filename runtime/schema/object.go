package schema

import (
	"fmt"
	"maps"
	"slices"
)

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
		k := n.makeRare()
		k.required = append(k.required, name)
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
