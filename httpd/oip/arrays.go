package oip

import (
	"slices"

	"pinion/httpd/protocol"
	"pinion/runtime/predict"
)

// joinArrays is join where the output of each row is an array in binary; false: it is not. The tensor has the array's
// bytes.
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

// lists is an output with nested lists in the places of arrays. finite is false where it has NaN, Infinity or
// -Infinity, which are not JSON. Without arrays it is output itself.
func lists(output []byte, tensors []predict.Tensor) (_ []byte, finite bool) {
	finite = true
	if tensors == nil {
		return output, finite
	}
	var out []byte
	for {
		before, number, after, found := predict.CutTensor(output)
		if !found {
			return append(out, output...), finite
		}
		t := Tensor{Type: datatypeOfCode(tensors[number].Code), Raw: tensors[number].Data}
		tokens, _ := t.appendTokens(func(dst []byte, v float64) []byte {
			finite = false
			return appendNotFinite(dst, v)
		})
		out = nest(append(out, before...), tokens, tensors[number].Shape)
		output = after
	}
}
