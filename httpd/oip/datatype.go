package oip

import (
	"encoding/binary"
	"math"
	"strconv"

	"pinion/httpd/protocol"
	"pinion/runtime/predict"
)

// Datatype is one of the protocol's datatypes.
type Datatype struct {
	Name string
	Size int  // of an element in bytes; 0 means BYTES
	Code byte // as in Python's module struct
}

// Bytes is the datatype of texts and files.
const Bytes = "BYTES"

var datatypes = []Datatype{
	{"BOOL", 1, '?'},
	{"UINT8", 1, 'B'},
	{"UINT16", 2, 'H'},
	{"UINT32", 4, 'I'},
	{"UINT64", 8, 'Q'},
	{"INT8", 1, 'b'},
	{"INT16", 2, 'h'},
	{"INT32", 4, 'i'},
	{"INT64", 8, 'q'},
	{"FP16", 2, 'e'},
	{"FP32", 4, 'f'},
	{"FP64", 8, 'd'},
	{Bytes, 0, 0},
}

// DatatypeNamed returns the datatype of that name, or false if there is none.
func DatatypeNamed(name string) (Datatype, bool) {
	for _, d := range datatypes {
		if d.Name == name {
			return d, true
		}
	}
	return Datatype{}, false
}

func datatypeOfCode(code byte) Datatype {
	for _, d := range datatypes {
		if d.Code == code {
			return d
		}
	}
	return Datatype{}
}

// numpyNames are the datatypes of numpy's dtypes.
var numpyNames = map[string]string{
	"bool": "BOOL", "uint8": "UINT8", "uint16": "UINT16", "uint32": "UINT32", "uint64": "UINT64",
	"int8": "INT8", "int16": "INT16", "int32": "INT32", "int64": "INT64",
	"float16": "FP16", "float32": "FP32", "float64": "FP64",
}

func (d Datatype) isFloat() bool { return d.Code == 'e' || d.Code == 'f' || d.Code == 'd' }

// taken returns the datatypes that an input of a kind takes, the usual one first.
func taken(v *protocol.Value) []string {
	switch v.Kind {
	case protocol.Integer:
		return []string{"INT64", "INT32", "INT16", "INT8", "UINT32", "UINT16", "UINT8"}
	case protocol.Number:
		return []string{"FP64", "FP32", "FP16"}
	case protocol.Boolean:
		return []string{"BOOL"}
	case protocol.Array:
		if name := numpyNames[v.Dtype]; name != "" {
			return []string{name}
		}
		return []string{
			"FP64", "FP32", "FP16", "INT64", "INT32", "INT16", "INT8", "UINT64", "UINT32", "UINT16", "UINT8",
			"BOOL",
		}
	case protocol.List:
		switch item := leaf(v); item.Kind {
		case protocol.Integer, protocol.Number, protocol.Boolean, protocol.Array:
			return taken(item)
		}
	}
	return []string{Bytes}
}

// leaf returns what nested lists hold.
func leaf(v *protocol.Value) *protocol.Value {
	for v.Kind == protocol.List {
		v = v.Item
	}
	return v
}

// depth returns how many lists are within one another.
func depth(v *protocol.Value) (n int) {
	for ; v.Kind == protocol.List; v = v.Item {
		n++
	}
	return n
}

// isScalar reports whether a value is one element of a tensor.
func isScalar(v *protocol.Value) bool {
	switch v.Kind {
	case protocol.Text, protocol.Integer, protocol.Number, protocol.Boolean, protocol.File:
		return true
	}
	return false
}

// appendNumber appends the element at raw as JSON. false means it is not finite.
func (d Datatype) appendNumber(dst, raw []byte) (_ []byte, finite bool) {
	le := binary.LittleEndian
	switch d.Code {
	case '?':
		return strconv.AppendBool(dst, raw[0] != 0), true
	case 'B':
		return strconv.AppendUint(dst, uint64(raw[0]), 10), true
	case 'H':
		return strconv.AppendUint(dst, uint64(le.Uint16(raw)), 10), true
	case 'I':
		return strconv.AppendUint(dst, uint64(le.Uint32(raw)), 10), true
	case 'Q':
		return strconv.AppendUint(dst, le.Uint64(raw), 10), true
	case 'b':
		return strconv.AppendInt(dst, int64(int8(raw[0])), 10), true
	case 'h':
		return strconv.AppendInt(dst, int64(int16(le.Uint16(raw))), 10), true
	case 'i':
		return strconv.AppendInt(dst, int64(int32(le.Uint32(raw))), 10), true
	case 'q':
		return strconv.AppendInt(dst, int64(le.Uint64(raw)), 10), true
	case 'd':
		return appendFloat(dst, d.float(raw), 64)
	default:
		return appendFloat(dst, d.float(raw), 32)
	}
}

// float returns the element at raw of a datatype of floats.
func (d Datatype) float(raw []byte) float64 {
	le := binary.LittleEndian
	switch d.Code {
	case 'e':
		return float64(halfToFloat(le.Uint16(raw)))
	case 'f':
		return float64(math.Float32frombits(le.Uint32(raw)))
	default:
		return math.Float64frombits(le.Uint64(raw))
	}
}

func appendFloat(dst []byte, v float64, bits int) ([]byte, bool) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return dst, false
	}
	begin := len(dst)
	dst = strconv.AppendFloat(dst, v, 'g', -1, bits)
	for _, c := range dst[begin:] {
		if c == '.' || c == 'e' {
			return dst, true
		}
	}
	return append(dst, ".0"...), true
}

// appendNotFinite appends the token of a number that is not finite. It is not JSON.
func appendNotFinite(dst []byte, v float64) []byte {
	switch {
	case v > 0:
		return append(dst, predict.Infinity...)
	case v < 0:
		return append(dst, predict.NegInfinity...)
	}
	return append(dst, predict.NaN...)
}

// notFinite returns the number of such a token.
func notFinite(token []byte) (v float64, ok bool) {
	switch string(token) {
	case predict.NaN:
		return math.NaN(), true
	case predict.Infinity:
		return math.Inf(1), true
	case predict.NegInfinity:
		return math.Inf(-1), true
	}
	return 0, false
}

func (d Datatype) appendFloat(dst []byte, v float64) []byte {
	le := binary.LittleEndian
	switch d.Code {
	case 'e':
		return le.AppendUint16(dst, floatToHalf(v))
	case 'f':
		return le.AppendUint32(dst, math.Float32bits(float32(v)))
	}
	return le.AppendUint64(dst, math.Float64bits(v))
}

// appendRaw appends the number or truth value of a JSON token, or a number that is not finite. false means the datatype
// does not have it.
func (d Datatype) appendRaw(dst, token []byte) (_ []byte, ok bool) {
	le := binary.LittleEndian
	text := string(token)
	switch {
	case d.Code == '?':
		if text == "true" {
			return append(dst, 1), true
		}
		return append(dst, 0), text == "false"
	case len(text) > 0 && (text[0] == 'N' || text[0] == 'I' || text == predict.NegInfinity):
		v, no := notFinite(token)
		return d.appendFloat(dst, v), no && d.isFloat()
	case len(text) == 0 || text[0] != '-' && (text[0] < '0' || text[0] > '9'):
		return dst, false
	case d.isFloat():
		v, err := strconv.ParseFloat(text, 64)
		switch {
		case err != nil:
			return dst, false
		case d.Code == 'd':
			return le.AppendUint64(dst, math.Float64bits(v)), true
		case d.Code == 'f':
			f := float32(v)
			return le.AppendUint32(dst, math.Float32bits(f)), !math.IsInf(float64(f), 0)
		}
		half := floatToHalf(v)
		return le.AppendUint16(dst, half), half&0x7c00 != 0x7c00
	case d.Code == 'Q':
		v, err := strconv.ParseUint(text, 10, 64)
		return le.AppendUint64(dst, v), err == nil
	}
	bits := 8 * d.Size
	if d.Code >= 'A' && d.Code <= 'Z' {
		v, err := strconv.ParseUint(text, 10, bits)
		return le.AppendUint64(dst, v)[:len(dst)+d.Size], err == nil
	}
	v, err := strconv.ParseInt(text, 10, bits)
	return le.AppendUint64(dst, uint64(v))[:len(dst)+d.Size], err == nil
}

// halfToFloat converts a float of 16 bits.
func halfToFloat(h uint16) float32 {
	sign, exp, frac := uint32(h>>15)<<31, uint32(h>>10)&0x1f, uint32(h)&0x3ff
	switch exp {
	case 0x1f:
		return math.Float32frombits(sign | 0x7f800000 | frac<<13)
	case 0:
		v := float32(frac) / (1 << 24)
		if sign != 0 {
			v = -v
		}
		return v
	}
	return math.Float32frombits(sign | (exp+112)<<23 | frac<<13)
}

// floatToHalf rounds to the nearest float of 16 bits, ties to even.
func floatToHalf(v float64) uint16 {
	sign := uint16(0)
	if math.Signbit(v) {
		sign, v = 0x8000, -v
	}
	switch {
	case math.IsNaN(v):
		return sign | 0x7e00
	case v >= 65520:
		return sign | 0x7c00
	case v < 1.0/(1<<14): // a multiple of 2^-24
		return sign | uint16(math.RoundToEven(v*(1<<24)))
	}
	exp := math.Ilogb(v)
	frac := math.RoundToEven(math.Ldexp(v, 10-exp)) // 1024 to 2048
	if frac == 2048 {
		frac, exp = 1024, exp+1
	}
	return sign | (uint16(exp+15)<<10 + uint16(frac) - 1024)
}
