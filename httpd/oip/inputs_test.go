package oip

import (
	"strings"
	"testing"

	"pinion/httpd/protocol"
	"pinion/tests/assert"
)

// signatureOf returns the signature of a model with the input x.
func signatureOf(v protocol.Value) *protocol.Signature {
	return &protocol.Signature{Inputs: []protocol.Field{{Name: "x", Value: v, Required: true}}}
}

func listOf(v protocol.Value) protocol.Value { return protocol.Value{Kind: protocol.List, Item: &v} }

// TestInputs_ListsOfArrays: the arrays within a list come from one tensor, without JSON.
func TestInputs_ListsOfArrays(t *testing.T) {
	s := signatureOf(listOf(protocol.Value{Kind: protocol.Array, Dtype: "float32", Rank: 1}))
	if got := inputRank(&s.Inputs[0].Value); got != 2 || taken(&s.Inputs[0].Value)[0] != "FP32" {
		t.Errorf("the input is of rank %d and takes %s, want rank 2 and FP32", got, taken(&s.Inputs[0].Value))
	}
	fp32, _ := DatatypeNamed("FP32")
	for _, c := range []struct {
		shape  []int64
		bytes  int
		tokens bool
		arrays int
		want   string
	}{
		{shape: []int64{2, 3}, bytes: 24, arrays: 2},
		{shape: []int64{3, 0}, arrays: 3},
		{shape: []int64{0, 3}},
		{shape: []int64{6}, bytes: 24, want: "has shape [6]: must be [-1,-1]"},
		{shape: []int64{1, 2, 3}, bytes: 24, want: "must be [-1,-1]"},
		{shape: []int64{1 << 30, 0}, want: "must have at most 16384 arrays"},
		{shape: []int64{1 << 30, 0}, tokens: true, want: "must have at most 16384 arrays or lists without elements"},
	} {
		in := Tensor{Name: "x", Type: fp32, Shape: c.shape, Raw: make([]byte, c.bytes)}
		if c.tokens {
			in.Raw, in.Tokens = nil, [][]byte{}
		}
		call, _, err := (&Request{Inputs: []Tensor{in}}).Call(nil, s, nil)
		switch {
		case c.want != "" && (err == nil || !strings.Contains(err.Message, c.want)):
			t.Errorf("%v: %v, want %q", c.shape, err, c.want)
		case c.want == "" && (err != nil || len(call.Tensors) != c.arrays):
			t.Errorf("%v: %v, %d arrays, want %d", c.shape, err, len(call.Tensors), c.arrays)
		}
	}
}

// TestInputs_EmptyListsAreFew: a shape without elements must not make lists without end. A gateway makes lists of an
// array too.
func TestInputs_EmptyListsAreFew(t *testing.T) {
	number := protocol.Value{Kind: protocol.Number}
	s, array := signatureOf(listOf(listOf(number))), signatureOf(protocol.Value{Kind: protocol.Array})
	for shape, few := range map[[3]int64]bool{
		{16384, 0, 1}: true, {0, 1 << 40, 0}: true, {1 << 30, 0, 1}: false,
		{1 << 8, 1 << 8, 0}: false,
	} {
		in := Tensor{Name: "x", Shape: shape[:], Tokens: [][]byte{}}
		in.Type, _ = DatatypeNamed("FP64")
		_, _, err := (&Request{Inputs: []Tensor{in}}).Call(nil, s, nil)
		assert.True(t, (err == nil) == few, "%v: %v, want %t", shape, err, few)
		in.Raw, in.Tokens = []byte{}, nil
		_, _, err = (&Request{Inputs: []Tensor{in}}).Call(nil, array, nil)
		assert.True(t, (err == nil) == few, "an array of %v: %v, want %t", shape, err, few)
	}
}
