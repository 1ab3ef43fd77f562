package grpc

import (
	"google.golang.org/protobuf/encoding/protowire"

	"pinion/httpd/oip"
)

// maxFields bounds the fields of a message and of its inputs and outputs, and the lengths of shapes. An empty input has
// two bytes in the message, and more than a hundred in memory, which are not charged. The elements of tensors do not
// count.
const maxFields = 16 * oip.MaxMembers

// The numbers of the fields that are looked into: of a ModelInferRequest, and of its inputs.
const (
	inputsField   = 5
	outputsField  = 6
	shapeField    = 3
	contentsField = 5
)

// bytesField is the number of bytes_contents in an InferTensorContents.
const bytesField = 8

// widths are the bytes of an element in memory, by the numbers of the other fields of an InferTensorContents.
var widths = [bytesField]int64{1: 1, 2: 4, 3: 8, 4: 4, 5: 8, 6: 4, 7: 8}

// textBytes is about what an element of bytes_contents takes in memory beside its text.
const textBytes = 64

// size is what a message takes in memory beside its bytes.
type size struct {
	fields   int   // of the message and its inputs and outputs; counting ends above maxFields
	elements int64 // bytes of decoded elements, and of the binary tensors that are made of them
}

// measure returns the size of a message. Unmarshal says if it is invalid.
func measure(data []byte) (s size) {
	s.each(data, func(number protowire.Number, value []byte) {
		switch number {
		case inputsField:
			s.each(value, s.input)
		case outputsField:
			s.each(value, func(protowire.Number, []byte) {})
		}
	})
	return s
}

// input measures a field of an input.
func (s *size) input(number protowire.Number, value []byte) {
	switch number {
	case shapeField: // packed
		s.fields += varints(value)
	case contentsField:
		s.contents(value)
	}
}

// each counts the fields of a message, and calls f with those of type bytes.
func (s *size) each(data []byte, f func(number protowire.Number, value []byte)) {
	for len(data) > 0 && s.fields <= maxFields {
		number, kind, tag := protowire.ConsumeTag(data)
		if tag < 0 {
			return
		}
		length := protowire.ConsumeFieldValue(number, kind, data[tag:])
		if length < 0 {
			return
		}
		s.fields++
		if kind == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(data[tag:])
			f(number, value)
		}
		data = data[tag+length:]
	}
}

// contents measures the elements of an InferTensorContents.
func (s *size) contents(data []byte) {
	for len(data) > 0 {
		number, kind, tag := protowire.ConsumeTag(data)
		if tag < 0 {
			return
		}
		length := protowire.ConsumeFieldValue(number, kind, data[tag:])
		if length < 0 {
			return
		}
		value := data[tag : tag+length]
		switch {
		case number == bytesField:
			s.elements += textBytes + int64(length)
		case number > bytesField || widths[number] == 0: // unknown: it is not decoded
		case kind == protowire.BytesType: // packed
			packed, _ := protowire.ConsumeBytes(value)
			s.elements += 2 * widths[number] * int64(numbers(number, packed))
		default: // one element; a list that grows leaves its earlier ones behind
			s.elements += 4 * widths[number]
		}
		data = data[tag+length:]
	}
}

// numbers returns how many elements a packed field has.
func numbers(number protowire.Number, packed []byte) int {
	switch number {
	case 6: // fp32_contents
		return len(packed) / 4
	case 7: // fp64_contents
		return len(packed) / 8
	}
	return varints(packed)
}

// varints returns how many packed integers there are.
func varints(packed []byte) (n int) {
	for _, b := range packed {
		if b < 0x80 {
			n++
		}
	}
	return n
}
