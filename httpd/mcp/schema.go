package mcp

import (
	"bytes"
	"slices"

	"pinion/runtime/rawjson"
)

// translator turns schemas of a model's OpenAPI 3.0 document into JSON Schema 2020-12. The order of their members stays.
type translator struct {
	components []byte   // the document's, by name
	used       [][]byte // names of those that are referred to, in the order of their first use
	// outputs means that "type": "object" alone is any value, as the document writes it for Any.
	outputs bool
}

// maxNesting bounds schemas that are made by hand.
const maxNesting = 64

const (
	references  = "#/components/schemas/"
	definitions = "#/$defs/"
)

// root returns a component as a whole schema, with the definitions that it needs, or nil if there is no such component.
func (t *translator) root(name string) []byte {
	t.used = nil
	schema := t.resolve(member(t.components, name))
	if rawjson.KindOf(schema) != rawjson.KindObject {
		return nil
	}
	dst := t.schema(nil, schema, 0)
	dst = dst[:len(dst)-1]
	for i := 0; i < len(t.used); i++ { // each may use others
		if i == 0 {
			dst = append(addMember(dst, "$defs"), '{')
		}
		dst = rawjson.Comma(dst, i > 0)
		dst = append(append(append(dst, '"'), t.used[i]...), `":`...)
		definition := t.component(t.used[i])
		if rawjson.KindOf(definition) != rawjson.KindObject {
			definition = []byte("{}")
		}
		dst = t.schema(dst, definition, 0)
	}
	if len(t.used) > 0 {
		dst = append(dst, '}')
	}
	return append(dst, '}')
}

// component returns a component by its name as it is written in a reference.
func (t *translator) component(name []byte) []byte { return member(t.components, rawjson.Name(name)) }

// resolve follows a schema that is only a reference.
func (t *translator) resolve(schema []byte) []byte {
	for range maxNesting {
		name, ok := referred(member(schema, "$ref"))
		if !ok {
			all := rawjson.Array(member(schema, "allOf"))
			if member(schema, "type") == nil && member(schema, "properties") == nil {
				if only, ok := all.Next(); ok {
					if _, more := all.Next(); !more {
						schema = only
						continue
					}
				}
			}
			return schema
		}
		schema = t.component(name)
	}
	return schema
}

// referred returns the name of the component that a reference means.
func referred(reference []byte) (name []byte, ok bool) {
	name, ok = bytes.CutPrefix(reference, []byte(`"`+references))
	return bytes.TrimSuffix(name, []byte(`"`)), ok
}

// schema appends the translation of a schema.
func (t *translator) schema(dst, schema []byte, depth int) []byte {
	if rawjson.KindOf(schema) != rawjson.KindObject || depth > maxNesting {
		return append(dst, "{}"...) // a list of schemas of an older dialect, or true and false
	}
	nullable := string(member(schema, "nullable")) == "true"
	kind := member(schema, "type")
	if t.outputs && string(kind) == `"object"` && member(schema, "properties") == nil && member(schema, "additionalProperties") == nil {
		kind = nil
	}
	dst = append(dst, '{')
	var alternatives []byte // of a null, where the schema has no type that could name it
	for key, value := range rawjson.Members(schema) {
		switch name := rawjson.Name(key); name {
		case "nullable", "discriminator", "xml", "externalDocs": // OpenAPI's own
		case "type":
			switch {
			case kind == nil:
			case nullable && rawjson.KindOf(kind) == rawjson.KindString:
				dst = append(append(append(addMember(dst, name), '['), kind...), `,"null"]`...)
			default:
				dst = append(addMember(dst, name), kind...)
			}
		case "example":
			dst = append(append(append(addMember(dst, "examples"), '['), value...), ']')
		case "enum":
			dst = append(addMember(dst, name), value...)
			if nullable && !bytes.Contains(value, []byte("null")) {
				dst = append(rawjson.Comma(dst[:len(dst)-1], len(value) > 2), "null]"...)
			}
		case "$ref":
			if nullable {
				alternatives = append(t.reference(append(alternatives, '{'), value), '}')
			} else {
				dst = t.reference(dst, value)
			}
		case "anyOf", "oneOf", "allOf":
			if only, ok := onlyReference(value); ok && name == "allOf" && !nullable {
				dst = t.reference(dst, only) // siblings no longer hide it
				continue
			}
			if nullable && name == "allOf" && kind == nil {
				alternatives = append(t.list(append(alternatives, `{"allOf":`...), value, nil, depth), '}')
				continue
			}
			var null []byte
			if nullable && kind == nil {
				null = []byte(`{"type":"null"}`)
			}
			dst = t.list(addMember(dst, name), value, null, depth)
		case "properties", "patternProperties":
			dst = t.properties(addMember(dst, name), value, depth)
		case "items", "additionalProperties", "not":
			dst = addMember(dst, name)
			if rawjson.KindOf(value) == rawjson.KindObject {
				dst = t.schema(dst, value, depth+1)
			} else {
				dst = append(dst, value...)
			}
		case "exclusiveMinimum", "exclusiveMaximum": // a switch in OpenAPI 3.0
			if rawjson.KindOf(value) == rawjson.KindNumber {
				dst = append(addMember(dst, name), value...)
			}
		case "minimum", "maximum":
			if exclusive := "exclusiveM" + name[1:]; string(member(schema, exclusive)) == "true" {
				name = exclusive
			}
			dst = append(addMember(dst, name), value...)
		case "x-cog-accept":
			if media, _, _ := bytes.Cut(value[1:max(1, len(value)-1)], []byte{','}); bytes.IndexByte(media, '/') > 0 {
				dst = addText(dst, "contentMediaType", string(bytes.TrimSpace(media)))
			}
		default:
			if !bytes.HasPrefix(key, []byte("x-")) {
				dst = append(append(append(rawjson.Comma(dst, dst[len(dst)-1] != '{'), '"'), key...), `":`...)
				dst = append(dst, value...)
			}
		}
	}
	if alternatives != nil {
		dst = append(append(append(addMember(dst, "anyOf"), '['), alternatives...), `,{"type":"null"}]`...)
	}
	return append(dst, '}')
}

// onlyReference returns the reference of a list of one schema, which is nothing else.
func onlyReference(list []byte) (reference []byte, ok bool) {
	items := rawjson.Array(list)
	item, _ := items.Next()
	_, more := items.Next()
	members := rawjson.Object(item)
	_, reference, _ = members.Next()
	_, _, further := members.Next()
	_, ok = referred(reference)
	return reference, ok && !more && !further
}

// reference appends a reference, and notes that its definition is needed.
func (t *translator) reference(dst, value []byte) []byte {
	name, ok := referred(value)
	if !ok {
		return dst
	}
	if !slices.ContainsFunc(t.used, func(known []byte) bool { return bytes.Equal(known, name) }) {
		t.used = append(t.used, name)
	}
	return append(append(append(addMember(dst, "$ref"), `"`+definitions...), name...), '"')
}

// list appends a list of schemas, and one more.
func (t *translator) list(dst, list, more []byte, depth int) []byte {
	dst = append(dst, '[')
	for i, item := range rawjson.Items(list) {
		dst = rawjson.Comma(dst, i > 0)
		dst = t.schema(dst, item, depth+1)
	}
	if more != nil {
		dst = append(rawjson.Comma(dst, dst[len(dst)-1] != '['), more...)
	}
	return append(dst, ']')
}

// properties appends schemas by name.
func (t *translator) properties(dst, object []byte, depth int) []byte {
	dst = append(dst, '{')
	for key, value := range rawjson.Members(object) {
		dst = append(append(append(rawjson.Comma(dst, dst[len(dst)-1] != '{'), '"'), key...), `":`...)
		dst = t.schema(dst, value, depth+1)
	}
	return append(dst, '}')
}
