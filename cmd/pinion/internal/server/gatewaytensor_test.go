package server

import (
	"testing"

	"pinion/runtime/predict"
)

func TestWithTensors_EveryCode(t *testing.T) {
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
		{'e', "\x00\x3e\x00\xc0", "[1.5,-2]"},
		{'f', "\x00\x00\x00\x3f\x00\x00\x20\xc1", "[0.5,-10]"},
		{'d', "\x00\x00\x00\x00\x00\x00\xe0\x3f\x9a\x99\x99\x99\x99\x99\xb9\x3f", "[0.5,0.1]"},
	} {
		tensor := predict.Tensor{Code: c.code, Shape: []int64{1, 2}, Data: []byte(c.data)}
		input := append(predict.AppendTensor([]byte(`{"x":`), 0, "an array"), '}')
		got, err := withTensors(input, []predict.Tensor{tensor})
		if want := `{"x":[` + c.want + `]}`; err != nil || string(got) != want {
			t.Errorf("%c: got %s, %v, want %s", c.code, got, err, want)
		}
	}
}

func TestWithTensors_WhatJSONCannotHold(t *testing.T) {
	input := predict.AppendTensor(nil, 0, "an array")
	for what, list := range map[string][]predict.Tensor{
		"NaN":             {{Code: 'e', Shape: []int64{1}, Data: []byte("\x00\x7e")}},
		"infinity":        {{Code: 'f', Shape: []int64{1}, Data: []byte("\x00\x00\x80\x7f")}},
		"too little data": {{Code: 'q', Shape: []int64{1}, Data: []byte("1234567")}},
		"an unknown code": {{Code: 'x', Shape: []int64{1}, Data: []byte("12345678")}},
	} {
		if got, err := withTensors(input, list); err == nil {
			t.Errorf("%s: got %s, want an error", what, got)
		}
	}
	if got, err := withTensors(predict.AppendTensor(nil, 1, "an array"), make([]predict.Tensor, 1)); err == nil {
		t.Errorf("a number without a tensor: got %s, want an error", got)
	}
}
