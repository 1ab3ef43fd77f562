package schema

// convert writes an OpenAPI schema as one of JSON Schema 2020-12, for the library. It keeps the
// place of every part, so that references still hold.
func (d *document) convert(schema any) any {
	m, ok := schema.(map[string]any)
	if !ok {
		return schema
	}
	out := make(map[string]any, len(m))
	nullable := m["nullable"] == true
	for keyword, v := range m {
		switch keyword {
		case "nullable":
		case "format":
			if v == "uri" {
				out[keyword] = v // the only format that is checked
			}
		case "anyOf":
			branches, null := withoutNull(v)
			nullable = nullable || null
			list, _ := d.convertList(branches).([]any)
			if null && len(list) == 1 {
				// Beside what allOf may be there: both apply to the same value.
				earlier, _ := out["allOf"].([]any)
				out["allOf"] = append(list, earlier...)
				continue
			}
			out[keyword] = list
		case "allOf":
			list, _ := d.convertList(v).([]any)
			earlier, _ := out[keyword].([]any)
			out[keyword] = append(list, earlier...)
		case "oneOf", "prefixItems":
			out[keyword] = d.convertList(v)
		case "properties", "patternProperties":
			out[keyword] = d.convertMap(v)
		case "items", "additionalProperties", "propertyNames":
			out[keyword] = d.convert(v)
		default:
			if !annotation(keyword) {
				out[keyword] = v
			}
		}
	}
	if ref, ok := m["$ref"]; ok && !d.modern {
		out = map[string]any{"$ref": ref}
	}
	if nullable {
		return map[string]any{"if": map[string]any{"type": "null"}, "else": out}
	}
	return out
}

func (d *document) convertList(v any) any {
	list, ok := v.([]any)
	if !ok {
		return v
	}
	out := make([]any, len(list))
	for i, schema := range list {
		out[i] = d.convert(schema)
	}
	return out
}

func (d *document) convertMap(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	out := make(map[string]any, len(m))
	for name, schema := range m {
		out[name] = d.convert(schema)
	}
	return out
}
