package oip

import (
	"testing"

	"pinion/runtime/predict"
	"pinion/tests/assert"
)

func TestLists_EveryCode(t *testing.T) {
	for _, c := range []struct {
		code byte
		data string // two elements
		want string
	}{
		{'?', "\x00\x01", "[false,true]"},
		{'b', "\x01\xff", "[1,-1]"},
		{'B', "\x01\xff", "[1,255]"},
		{'h', "\x01\x00\xfe\xff", "[1,-2]"},
		{'H', "\x01\x00\xfe\xff", "[1,65534]"},
		{'i', "\x01\x00\x00\x00\xff\xff\xff\xff", "[1,-1]"},
		{'I', "\x01\x00\x00\x00\xff\xff\xff\xff", "[1,4294967295]"},
		{'q', "\x01\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff", "[1,-1]"},
		{'Q', "\x01\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff", "[1,18446744073709551615]"},
		{'e', "\x00\x3e\x00\xc0", "[1.5,-2.0]"},
		{'f', "\x00\x00\x00\x3f\x00\x00\x20\xc1", "[0.5,-10.0]"},
		{'d', "\x00\x00\x00\x00\x00\x00\xe0\x3f\x9a\x99\x99\x99\x99\x99\xb9\x3f", "[0.5,0.1]"},
	} {
		tensor := predict.Tensor{Code: c.code, Shape: []int64{1, 2}, Data: []byte(c.data)}
		input := append(predict.AppendTensor([]byte(`{"x":`), 0, "an array"), '}')
		got, finite := Lists(input, []predict.Tensor{tensor})
		want := `{"x":[` + c.want + `]}`
		assert.True(t, finite && string(got) == want, "%c: got %s, %t, want %s", c.code, got, finite, want)
	}
}

func TestLists_NotFinite(t *testing.T) {
	input := predict.AppendTensor(nil, 0, "an array")
	for want, list := range map[string][]predict.Tensor{
		"[NaN]":        {{Code: 'e', Shape: []int64{1}, Data: []byte("\x00\x7e")}},
		"[[Infinity]]": {{Code: 'f', Shape: []int64{1, 1}, Data: []byte("\x00\x00\x80\x7f")}},
		"-Infinity":    {{Code: 'd', Data: []byte("\x00\x00\x00\x00\x00\x00\xf0\xff")}},
	} {
		got, finite := Lists(input, list)
		assert.True(t, string(got) == want && !finite, "got %s, finite %t, want %s, false", got, finite, want)
	}
}
