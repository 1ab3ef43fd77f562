package predict

import (
	"bytes"
	"strconv"
)

// Tensor is an array in binary, in place of nested lists in an input or output.
type Tensor struct {
	Code  byte // of its elements, as in Python's module struct: 'f', 'q', …; '?' is one byte, 'e' two
	Shape []int64
	Data  []byte // the elements, little-endian and row-major
}

// tensorHead begins the placeholder of a tensor: a JSON string with a control character, which valid JSON never has.
const tensorHead = "\"\x01"

// AppendTensor appends the placeholder of the request's or result's tensor with that number. text describes it to readers of the input; it
// has no character that JSON escapes. As AppendPlaceholder's, the result is not valid JSON.
func AppendTensor(dst []byte, number int, text string) []byte {
	dst = strconv.AppendInt(append(dst, tensorHead...), int64(number), 10)
	dst = append(append(dst, ':'), text...)
	return append(dst, '"')
}

// IsTensor reports whether raw is the placeholder of a tensor.
func IsTensor(raw []byte) bool {
	return len(raw) > 1 && raw[1] == 1 && raw[0] == '"'
}

// CutTensor splits input around its first placeholder of a tensor; false: there is none.
func CutTensor(input []byte) (before []byte, number int, after []byte, ok bool) {
	before, rest, found := bytes.Cut(input, []byte(tensorHead))
	digits, text, colon := bytes.Cut(rest, []byte{':'})
	end := bytes.IndexByte(text, '"')
	if !found || !colon || end < 0 {
		return input, 0, nil, false
	}
	number, err := strconv.Atoi(string(digits))
	return before, number, text[end+1:], err == nil
}

// EmptyTensors returns output with an empty list in the place of each placeholder of a tensor, to be checked against a schema.
func EmptyTensors(output []byte) []byte {
	before, _, after, ok := CutTensor(output)
	if !ok {
		return output
	}
	return append(append(bytes.Clone(before), "[]"...), EmptyTensors(after)...)
}
