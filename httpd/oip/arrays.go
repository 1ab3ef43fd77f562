package oip

import (
	"slices"

	"pinion/httpd/protocol"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

// joinArrays is join if the output of each row is a binary array; false means it is not. The tensor has the
// array's bytes.
func joinArrays(s *protocol.Signature, f outputField, shape Rows,
	answers []protocol.Answer,
) (t Tensor, ok bool, err *protocol.Error) {
	t.Name = f.name
	var item []int64
	for i := range answers {
		value := valueOf(s, f, &answers[i])
		if !predict.IsTensor(value) {
			return t, false, nil
		}
		_, number, _, _ := predict.CutTensor(value)
		array := &answers[i].Tensors[number]
		datatype := datatypeOfCode(array.Code)
		switch {
		case i == 0:
			t.Type, t.Raw, item = datatype, array.Data, slices.Clip(array.Shape)
		case datatype != t.Type || !slices.Equal(array.Shape, item):
			return t, true, unlike(i, array.Shape, item)
		default:
			t.Raw = append(t.Raw, array.Data...)
		}
	}
	t.Shape = joinedShape(s, shape, item, len(answers))
	return t, true, nil
}

// Lists returns an input or output with nested lists in the places of arrays. finite is false if it has NaN, Infinity
// or -Infinity, which are not JSON. Without arrays it is text itself.
func Lists(text []byte, tensors []predict.Tensor) (_ []byte, finite bool) {
	if tensors == nil {
		return text, true
	}
	var out []byte
	w := listWriter{finite: true}
	for {
		before, number, after, found := predict.CutTensor(text)
		out = append(out, before...)
		if !found {
			return out, w.finite
		}
		w.of, w.raw = datatypeOfCode(tensors[number].Code), tensors[number].Data
		out = w.append(out, tensors[number].Shape)
		text = after
	}
}

// listWriter writes arrays as nested lists.
type listWriter struct {
	of     Datatype
	raw    []byte // the elements that are left
	finite bool   // so far
}

func (w *listWriter) append(dst []byte, shape []int64) []byte {
	if len(shape) == 0 {
		element := w.raw
		w.raw = element[w.of.Size:]
		out, finite := w.of.appendNumber(dst, element)
		if !finite {
			w.finite = false
			return appendNotFinite(dst, w.of.float(element))
		}
		return out
	}
	dst = append(dst, '[')
	for i := range shape[0] {
		dst = rawjson.Comma(dst, i > 0)
		dst = w.append(dst, shape[1:])
	}
	return append(dst, ']')
}

// joinedShape returns the shape of n items of that shape; nil means a scalar.
func joinedShape(s *protocol.Signature, shape Rows, item []int64, n int) []int64 {
	switch {
	case len(item) > 0 && (!shape.given || s.Iterator && n == 1):
		return item
	case len(item) == 0 && shape.column:
		return []int64{int64(n), 1}
	default:
		return append([]int64{int64(n)}, item...)
	}
}

// valueOf returns an answer's value of an output.
func valueOf(s *protocol.Signature, f outputField, a *protocol.Answer) []byte {
	if len(s.Output.Members) > 0 && !s.Iterator {
		return member(a.Output, f.name)
	}
	return a.Output
}

func unlike(row int, form, first []int64) *protocol.Error {
	return &protocol.Error{
		Kind: protocol.Failed, Row: row,
		Message: "its output has the shape " + shapeText(form) + " and row 0 has " + shapeText(first) +
			": one tensor cannot hold both",
	}
}

// member returns the member of an object, or null.
func member(object []byte, name string) []byte {
	value := []byte("null")
	if rawjson.KindOf(object) != rawjson.KindObject {
		return value
	}
	for key, v := range rawjson.Members(object) {
		if rawjson.KeyIs(key, name) {
			value = v
		}
	}
	return value
}
