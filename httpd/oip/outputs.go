package oip

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"pinion/httpd/protocol"
	"pinion/runtime/rawjson"
)

// outputField is an output tensor of a model.
type outputField struct {
	name  string
	value *protocol.Value
}

// outputFields returns the outputs of a model: a field each of an object, else one.
func outputFields(s *protocol.Signature) []outputField {
	if v := &s.Output; v.Kind == protocol.Object && len(v.Members) > 0 && !s.Iterator {
		list := make([]outputField, len(v.Members))
		for i := range v.Members {
			list[i] = outputField{v.Members[i].Name, &v.Members[i].Value}
		}
		return list
	}
	return []outputField{{"output", &s.Output}}
}

// Answered returns the tensors of an answer, as the request asked for them.
func (r *Request) Answered(s *protocol.Signature, shape Rows, answers []protocol.Answer) ([]Tensor, *protocol.Error) {
	var out []Tensor
	for _, f := range r.chosen(outputFields(s)) {
		t, err := join(s, f, shape, answers)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

// Item returns the tensors of one item of an iterator. No item of a concatenating one is joined with another.
func (r *Request) Item(s *protocol.Signature, shape Rows, item []byte) ([]Tensor, *protocol.Error) {
	signature := protocol.Signature{Inputs: s.Inputs, Output: s.Output}
	signature.Output.Members = nil // an item is one tensor, as the metadata says
	return r.Answered(&signature, shape, []protocol.Answer{{Output: item}})
}

// checkOutputs refuses names that the model does not have, before it runs.
func (r *Request) checkOutputs(s *protocol.Signature) *protocol.Error {
	fields := outputFields(s)
	for _, w := range r.Outputs {
		if !slices.ContainsFunc(fields, func(f outputField) bool { return f.name == w.Name }) {
			names := make([]string, len(fields))
			for i, f := range fields {
				names[i] = f.name
			}
			return bad("unknown output %q: the model has %s", shortText([]byte(w.Name)), strings.Join(names, ", "))
		}
	}
	return nil
}

func (r *Request) chosen(fields []outputField) []outputField {
	if len(r.Outputs) == 0 {
		return fields
	}
	var list []outputField
	for _, w := range r.Outputs {
		for _, f := range fields {
			if f.name == w.Name {
				list = append(list, f)
			}
		}
	}
	return list
}

// mayHaveArrays reports whether an output may be an array, or have some in it.
func mayHaveArrays(s *protocol.Signature) bool {
	if s.Concatenate {
		return false
	}
	switch s.Output.Kind {
	case protocol.Any, protocol.List, protocol.Array, protocol.Object:
		return true
	}
	return false
}

// takesAny reports whether an output that is one number may be a NaN or an infinity. With JSON it may not.
func (r *Request) takesAny(s *protocol.Signature) bool {
	return s.Output.Kind == protocol.Number && (r.GRPC || r.wantsBinary("output"))
}

// join makes one tensor of an output of all rows.
func join(s *protocol.Signature, f outputField, shape Rows, answers []protocol.Answer) (Tensor, *protocol.Error) {
	if t, ok, err := joinArrays(s, f, shape, answers); ok {
		return t, err
	}
	t := Tensor{Name: f.name, Tokens: [][]byte{}}
	var item []int64
	for i := range answers {
		value, finite := Lists(valueOf(s, f, &answers[i]), answers[i].Tensors)
		if s.Concatenate {
			value = concatenated(value)
		}
		tokens, form := elements(value)
		datatype := typeOf(f.value, tokens)
		if datatype.Size == 0 && (len(tokens) == 0 && form == nil || !allStrings(tokens)) {
			if !finite {
				return t, &protocol.Error{
					Kind: protocol.Failed, Row: i,
					Message: fmt.Sprintf("output %q has a NaN or infinity and is answered as JSON, which cannot hold it: only numbers, lists of numbers and arrays can", f.name),
				}
			}
			tokens, form = [][]byte{rawjson.AppendQuotedBytes(nil, value)}, nil
		}
		if i == 0 {
			t.Type, item = datatype, form
		} else if datatype != t.Type || !slices.Equal(form, item) {
			return t, unlike(i, form, item)
		}
		if leaf(f.value).Kind == protocol.File {
			for _, token := range tokens {
				t.Raw = appendContent(t.Raw, token)
			}
		}
		t.Tokens = append(t.Tokens, tokens...)
	}
	t.Shape = joinedShape(s, shape, item, len(answers))
	return t, nil
}

// elements flattens nested lists that have one length at each level. form is their lengths, or nil if value is not such
// a list.
func elements(value []byte) (tokens [][]byte, form []int64) {
	if rawjson.KindOf(value) != rawjson.KindArray {
		return [][]byte{value}, nil
	}
	form = []int64{0}
	var below []int64
	for a := rawjson.Array(value); ; form[0]++ {
		v, ok := a.Next()
		if !ok {
			return tokens, append(form, below...)
		}
		part, inner := elements(v)
		if form[0] > 0 && !slices.Equal(inner, below) {
			return [][]byte{value}, nil
		}
		below = inner
		tokens = append(tokens, part...)
	}
}

// typeOf returns the datatype of elements: what the annotation says, if they have it.
func typeOf(v *protocol.Value, tokens [][]byte) Datatype {
	name := Bytes
	switch item := leaf(v); item.Kind {
	case protocol.Integer:
		name = "INT64"
	case protocol.Number:
		name = "FP64"
	case protocol.Boolean:
		name = "BOOL"
	case protocol.Any:
		name = guess(tokens)
	case protocol.Array:
		if name = numpyNames[item.Dtype]; name == "" {
			name = guess(tokens)
		}
	}
	d, _ := DatatypeNamed(name)
	var scratch [8]byte
	for _, token := range tokens {
		if d.Size == 0 {
			break
		}
		if _, ok := d.appendRaw(scratch[:0], token); !ok {
			return Datatype{Name: Bytes}
		}
	}
	return d
}

// guess returns the datatype of elements without an annotation.
func guess(tokens [][]byte) string {
	name := ""
	for _, token := range tokens {
		kind := Bytes
		switch rawjson.KindOf(token) {
		case rawjson.KindBool:
			kind = "BOOL"
		case rawjson.KindNumber:
			if kind = "INT64"; bytes.ContainsAny(token, ".eE") {
				kind = "FP64"
			}
		}
		if _, no := notFinite(token); no {
			kind = "FP64"
		}
		switch {
		case name == "" || name == kind:
			name = kind
		case (name == "INT64" || name == "FP64") && (kind == "INT64" || kind == "FP64"):
			name = "FP64"
		default:
			return Bytes
		}
	}
	if name == "" {
		return "FP64"
	}
	return name
}

func allStrings(tokens [][]byte) bool {
	return !slices.ContainsFunc(tokens, func(token []byte) bool { return rawjson.KindOf(token) != rawjson.KindString })
}

// concatenated returns the text of a list of texts.
func concatenated(list []byte) []byte {
	var text []byte
	for _, v := range rawjson.Items(list) {
		if rawjson.KindOf(v) == rawjson.KindString {
			text = rawjson.AppendText(text, v[1:len(v)-1])
		} else {
			text = append(text, v...)
		}
	}
	return rawjson.AppendQuotedBytes(nil, text)
}

// appendContent appends the content of a data URL, or else the URL, as an element of BYTES.
func appendContent(raw, token []byte) []byte {
	text := rawjson.Text(token)
	data := []byte(text)
	if head, encoded, ok := strings.Cut(text, ";base64,"); ok && strings.HasPrefix(head, "data:") {
		if decoded, err := base64.StdEncoding.DecodeString(encoded); err == nil {
			data = decoded
		}
	}
	return append(binary.LittleEndian.AppendUint32(raw, uint32(len(data))), data...)
}

func (r *Request) wantsBinary(name string) bool {
	for _, w := range r.Outputs {
		if w.Name == name && w.Binary != nil {
			return *w.Binary
		}
	}
	return r.Binary
}
