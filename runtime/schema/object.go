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
		list = append(list, property{name, d.compileAt(name, m[name])})
	}
	return list, nil
}

// required returns the names that m requires.
func (d *document) required(n *node, m map[string]any) []string {
	names, err := stringList(m["required"])
	if err != nil {
		d.enter("required")
		d.leaveOut(n, err)
		d.leave()
	}
	return names
}

// object compiles properties, required and, if closed, additionalProperties, which belong together.
func (d *document) object(n *node, m map[string]any, closed bool) {
	required := d.required(n, m)
	if v, ok := m["properties"]; ok {
		d.enter("properties")
		var err error
		if n.properties, err = d.compileNamed(v); err != nil {
			d.leaveOut(n, err)
			closed = false
		}
		d.leave()
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
	if !closed {
		return
	}
	switch additional := m["additionalProperties"].(type) {
	case nil:
	case bool:
		n.closed = !additional
	default:
		n.additional = d.compileAt("additionalProperties", additional)
	}
}

// place returns the index of s in list, or the length of list.
func place(list []string, s string) int {
	if i := slices.Index(list, s); i >= 0 {
		return i
	}
	return len(list)
}
