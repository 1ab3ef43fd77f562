package openai

import (
	"bytes"
	"strconv"
	"strings"

	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

// Body is a request's parameters, each name once; the last one counts.
type Body struct {
	members []member
	form    bool // its values are a form's text, not JSON
	// labels are parameters of a dialect that only tune or label the answer.
	labels []string
}

// member is one parameter. Its value is JSON, or in a form as the field has it.
type member struct {
	name  string
	value []byte
	field []predict.FormField // the fields of that name; only in a form

	joined  bool     // value is a copy of several parts, which may grow
	members []member // of an object of several parts, in place of value; else nil
}

// ParseJSON reads a JSON body. The result aliases body.
func ParseJSON(body []byte) (*Body, *Error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, invalid("", "", "The request's body is empty; send a JSON object.")
	}
	if err := rawjson.Check(body); err != nil {
		return nil, invalid("", "", "The request's body cannot be read: "+err.Error()+".")
	}
	if rawjson.KindOf(body) != rawjson.KindObject {
		return nil, invalid("", CodeInvalidType,
			"The request's body must be a JSON object, not "+typeOf(bytes.TrimSpace(body))+".")
	}
	b := &Body{}
	n := 0
	for key, value := range rawjson.Members(body) {
		if n++; n > maxMembers {
			return nil, invalid("", "", "The request has more than "+strconv.Itoa(maxMembers)+" parameters.")
		}
		b.members = put(b.members, rawjson.Name(key), value)
	}
	return b, nil
}

// ParseForm reads the fields of a multipart/form-data body. A name may end in [] where several values are meant.
func ParseForm(fields []predict.FormField) *Body {
	b := &Body{form: true}
	for _, f := range fields {
		f.Name = strings.TrimSuffix(f.Name, "[]")
		m := find(b.members, f.Name)
		if m == nil {
			b.members = append(b.members, member{name: f.Name})
			m = &b.members[len(b.members)-1]
		}
		m.field = append(m.field, f)
		m.value = f.Value
	}
	return b
}

// maxMembers is how many parameters a request may have. OpenAI's API has fewer than 50 for an endpoint.
const maxMembers = 500

// get returns the JSON value of a parameter, or nil if it is absent or null. A form's text is read as kind says.
func (b *Body) get(name string, kind rawjson.Kind) []byte {
	m := find(b.members, name)
	if m == nil {
		return nil
	}
	value := m.value
	if b.form {
		value = formValue(m, kind)
	}
	if rawjson.KindOf(value) == rawjson.KindNull {
		return nil
	}
	return value
}

// formValue returns the value of a form's field as JSON of that kind; if it is none, as a string.
func formValue(m *member, kind rawjson.Kind) []byte {
	switch {
	case kind == rawjson.KindArray:
		out := []byte{'['}
		for i, f := range m.field {
			out = rawjson.Comma(out, i > 0)
			out = rawjson.AppendQuotedBytes(out, f.Value)
		}
		return append(out, ']')
	case m.field[len(m.field)-1].Form == predict.FieldFile, m.field[len(m.field)-1].Form == predict.FieldJSON:
		return m.value
	case kind != rawjson.KindString && kind != anything && rawjson.Check(m.value) == nil &&
		rawjson.KindOf(m.value) == kind:
		return bytes.TrimSpace(m.value)
	}
	return rawjson.AppendQuotedBytes(nil, m.value)
}

// Model returns the name of the model that the request asks for, "" if it names none.
func (b *Body) Model() (string, *Error) {
	value := b.get("model", rawjson.KindString)
	switch {
	case value == nil:
		return "", nil
	case rawjson.KindOf(value) != rawjson.KindString:
		return "", WrongType("model", "a string", value)
	}
	return rawjson.Name(inside(value)), nil
}
