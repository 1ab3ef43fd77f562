package schema

import (
	"bytes"
	"slices"

	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

// Form returns input, a JSON object, with the fields of a form. A field replaces a member of the same name. A form's
// values are text, so each is read by its type in the schema: "3" is a number for an integer, and a text for a string.
// Arrays and objects are JSON. Several values of one name are a list, and so is a single value where the schema
// requires a list. A value that cannot be read stays text, so that Prepare reports it.
func (s *Schema) Form(input []byte, fields []predict.FormField) []byte {
	if len(fields) == 0 {
		return input
	}
	input = bytes.TrimSpace(input)
	out := []byte{'{'}
	if len(input) > 0 {
		out = append(out, input[1:len(input)-1]...)
	}
	if len(bytes.TrimSpace(out)) == 1 {
		out = out[:1] // an object without members
	}
	named := map[string][]predict.FormField{}
	for _, f := range fields {
		named[f.Name] = append(named[f.Name], f)
	}
	for _, f := range fields {
		values := named[f.Name]
		if values == nil {
			continue // written with the first one of that name
		}
		named[f.Name] = nil
		out = rawjson.Comma(out, len(out) > 1)
		out = append(rawjson.AppendQuoted(out, f.Name), ':')
		n := &node{} // an unknown field, which Prepare drops
		if at := slices.IndexFunc(s.fields, func(known field) bool { return known.name == f.Name }); at >= 0 {
			n = s.fields[at].node
		}
		out = n.appendForm(out, values)
	}
	return append(out, '}')
}

func (n *node) appendForm(out []byte, values []predict.FormField) []byte {
	kinds := n.kinds()
	const text, array = 1 << rawjson.KindString, 1 << rawjson.KindArray
	value := &values[0]
	listed := kinds&array != 0 && kinds&text == 0 // n requires a list
	switch {
	case len(values) > 1:
	case listed && value.Form == predict.FieldText && isJSON(value.Value, rawjson.KindArray),
		listed && value.Form == predict.FieldJSON && rawjson.KindOf(value.Value) == rawjson.KindArray, !listed:
		return n.appendField(out, value)
	}
	out = append(out, '[')
	item := n.formItem()
	for i := range values {
		out = rawjson.Comma(out, i > 0)
		out = item.appendField(out, &values[i])
	}
	return append(out, ']')
}

func (n *node) appendField(out []byte, f *predict.FormField) []byte {
	if f.Form != predict.FieldText {
		return append(out, f.Value...)
	}
	return n.appendText(out, f.Value)
}

func (n *node) appendText(out, text []byte) []byte {
	kinds := n.kinds()
	accepts := func(k rawjson.Kind) bool { return kinds&(1<<k) != 0 }
	trimmed := bytes.TrimSpace(text)
	valid := rawjson.Check(trimmed) == nil
	kind := rawjson.KindOf(trimmed)
	literal := valid && kind != rawjson.KindString && kind != rawjson.KindNull
	switch {
	case literal && accepts(kind) && n.accepts(trimmed):
		return append(out, trimmed...)
	case accepts(rawjson.KindBool) && isWord(trimmed, "true", "on", "yes"):
		return append(out, "true"...)
	case accepts(rawjson.KindBool) && isWord(trimmed, "false", "off", "no"):
		return append(out, "false"...)
	case kinds == 0 || accepts(rawjson.KindString):
		return rawjson.AppendQuotedBytes(out, text)
	case accepts(rawjson.KindNull) && (len(trimmed) == 0 || string(trimmed) == "null"):
		return append(out, "null"...)
	case literal:
		return append(out, trimmed...) // of the wrong kind: Prepare reports it
	}
	return rawjson.AppendQuotedBytes(out, text)
}

func isJSON(text []byte, kind rawjson.Kind) bool {
	return rawjson.KindOf(text) == kind && rawjson.Check(bytes.TrimSpace(text)) == nil
}

// isWord reports whether text is one of the words, in any case.
func isWord(text []byte, words ...string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return bytes.EqualFold(text, []byte(word)) })
}

// kinds returns the kinds of value that n accepts, a bit for each rawjson.Kind, or 0 if not specified.
func (n *node) kinds() uint16 {
	kinds := n.types.kinds
	for _, part := range n.allOf {
		if kinds == 0 {
			kinds = part.kinds()
		}
	}
	if kinds == 0 {
		for _, branch := range n.choices() {
			kinds |= branch.kinds()
		}
	}
	if kinds != 0 && n.nullable {
		kinds |= 1 << rawjson.KindNull
	}
	return kinds
}

// choices returns the schemas of which one must hold.
func (n *node) choices() []*node {
	if n.rare == nil {
		return n.anyOf
	}
	return slices.Concat(n.anyOf, n.rare.oneOf)
}

// formItem returns the schema of the items of the list that n accepts.
func (n *node) formItem() *node {
	if n.items != nil {
		return n.items
	}
	for _, part := range n.inPlace() {
		if item := part.formItem(); item.kinds() != 0 {
			return item
		}
	}
	return &node{}
}
