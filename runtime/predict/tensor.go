package predict

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
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

// AppendTensor appends the placeholder of the request's or result's tensor with that number. text describes it to
// readers of the input; it has no character that JSON escapes. Like that of AppendPlaceholder, the result is not valid
// JSON.
func AppendTensor(dst []byte, number int, text string) []byte {
	dst = strconv.AppendInt(append(dst, tensorHead...), int64(number), 10)
	dst = append(append(dst, ':'), text...)
	return append(dst, '"')
}

func IsTensor(raw []byte) bool {
	return len(raw) > 1 && raw[1] == 1 && raw[0] == '"'
}

// CutTensor splits input around its first placeholder of a tensor; false means there is none.
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

func HasTensor(raw []byte) bool { return bytes.Contains(raw, []byte(tensorHead)) }

// The texts of tensors that stand for a number that JSON cannot express. Such a tensor has no dimensions, and the code
// 'd'.
const (
	NaN         = "NaN"
	Infinity    = "Infinity"
	NegInfinity = "-Infinity"
)

// AppendNotFinite appends the placeholder of a number that is not finite, and adds its tensor to list if it is not
// there.
func AppendNotFinite(dst []byte, v float64, list []Tensor) ([]byte, []Tensor) {
	text, bits := NaN, math.Float64bits(v)
	switch {
	case v > 0:
		text = Infinity
	case v < 0:
		text = NegInfinity
	default:
		bits = math.Float64bits(math.NaN()) // the same for every NaN
	}
	data := binary.LittleEndian.AppendUint64(nil, bits)
	at := slices.IndexFunc(list, func(t Tensor) bool { return len(t.Shape) == 0 && bytes.Equal(t.Data, data) })
	if at < 0 {
		at, list = len(list), append(list, Tensor{Code: 'd', Data: data})
	}
	return AppendTensor(dst, at, text), list
}

// Numbers beyond every bound of a schema.
const (
	Above = "1e999999999"
	Below = "-1e999999999"
)

// WithPlaceholders returns raw with JSON in place of its tensors, to be checked against a schema: an empty list
// for an array, Above and Below for an infinity, and nan for a NaN.
func WithPlaceholders(raw []byte, nan string) []byte {
	var out []byte
	for {
		before, rest, found := bytes.Cut(raw, []byte(tensorHead))
		if !found {
			if out == nil {
				return raw
			}
			return append(out, raw...)
		}
		_, rest, _ = bytes.Cut(rest, []byte{':'})
		text, rest, _ := bytes.Cut(rest, []byte{'"'})
		out = append(out, before...)
		switch string(text) {
		case NaN:
			out = append(out, nan...)
		case Infinity:
			out = append(out, Above...)
		case NegInfinity:
			out = append(out, Below...)
		default:
			out = append(out, "[]"...)
		}
		raw = rest
	}
}
