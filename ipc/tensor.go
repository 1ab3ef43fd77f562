package ipc

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
)

// Tensor is an array in the body of a frame. PROTOCOL.md draws it.
type Tensor struct {
	Code  byte // of an element, as in Python's module struct
	Shape []int64
	Data  []byte
}

// tensorMark begins a tensor in the body of a frame. No JSON has this byte: strings escape it.
const tensorMark = 1

// AppendTensorHead appends the head of a tensor, which precedes its elements. size is that of the elements in bytes.
func AppendTensorHead(dst []byte, code byte, shape []int64, size int) []byte {
	dst = append(dst, tensorMark, code, byte(len(shape)))
	for _, length := range shape {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(length))
	}
	return binary.LittleEndian.AppendUint64(dst, uint64(size))
}

// HasTensor reports whether body has a tensor, if it is otherwise JSON.
func HasTensor(body []byte) bool { return bytes.IndexByte(body, tensorMark) >= 0 }

// elementSize returns how many bytes an element takes. It is 0 if there is no such code.
func elementSize(code byte) int {
	switch code {
	case '?', 'b', 'B':
		return 1
	case 'h', 'H', 'e':
		return 2
	case 'i', 'I', 'f':
		return 4
	case 'q', 'Q', 'd':
		return 8
	}
	return 0
}

// CutTensor splits body around its first tensor, whose Data has the size of its shape, and is in body or in shared,
// which may be nil. It returns false if there is none, or if it cannot be read.
func CutTensor(body []byte, shared *SharedFile) (before []byte, t Tensor, after []byte, ok bool) {
	at := bytes.IndexByte(body, tensorMark)
	if at < 0 || len(body)-at < 3 {
		return body, t, nil, false
	}
	before, t.Code = body[:at], body[at+1]
	dimensions, rest := int(body[at+2]&^elsewhere), body[at+3:]
	if len(rest) < 8*(dimensions+1) {
		return body, t, nil, false
	}
	t.Shape = make([]int64, dimensions)
	wanted := uint64(elementSize(t.Code))
	known := wanted > 0
	for i := range t.Shape {
		length := binary.LittleEndian.Uint64(rest[8*i:])
		high, low := bits.Mul64(wanted, length)
		known = known && high == 0 && length <= math.MaxInt64
		t.Shape[i], wanted = int64(length), low
	}
	size := binary.LittleEndian.Uint64(rest[8*dimensions:])
	rest = rest[8*(dimensions+1):]
	if !known || size != wanted {
		return body, t, nil, false
	}
	if body[at+2]&elsewhere != 0 {
		t.Data, rest, ok = shared.cut(rest, size)
		return before, t, rest, ok
	}
	if size > uint64(len(rest)) {
		return body, t, nil, false
	}
	t.Data, after = rest[:size:size], rest[size:]
	return before, t, after, true
}

// cut reads an offset in the file. It returns the size bytes of the file from there on, and what follows the offset, or
// false if the file has no such bytes.
func (f *SharedFile) cut(from []byte, size uint64) (data, after []byte, ok bool) {
	if f == nil || len(from) < 8 {
		return nil, nil, false
	}
	at := binary.LittleEndian.Uint64(from)
	if at > uint64(len(f.Data)) || size > uint64(len(f.Data))-at {
		return nil, nil, false
	}
	return f.Data[at : at+size : at+size], from[8:], true
}
