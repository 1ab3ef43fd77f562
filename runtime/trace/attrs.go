package trace

import (
	"encoding/binary"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// AttrModel is the attribute that names a model, in a server with several.
const AttrModel = "pinion.model"

// Attrs are attributes of a span, in their encoded form. As with append, callers must use the result of a method.
type Attrs []byte

func (a Attrs) Text(key, value string) Attrs { return textAttr(a, spanAttributes, key, valid(value)) }

// Word is Text for a word of ours, which is valid.
func (a Attrs) Word(key, value string) Attrs { return textAttr(a, spanAttributes, key, value) }

func (a Attrs) Int(key string, value int64) Attrs {
	b := keyed(a, spanAttributes, key, 1+protowire.SizeVarint(uint64(value)))
	return varintField(b, valueInt64, uint64(value))
}

func (a Attrs) Float(key string, value float64) Attrs {
	b := keyed(a, spanAttributes, key, 1+protowire.SizeFixed64())
	return binary.LittleEndian.AppendUint64(tag(b, valueDouble, protowire.Fixed64Type), math.Float64bits(value))
}

func (a Attrs) Texts(key string, values []string) Attrs {
	var list []byte
	for _, value := range values {
		list = bytesField(list, arrayValues, bytesField(nil, valueString, []byte(valid(value))))
	}
	b := keyed(a, spanAttributes, key, 1+protowire.SizeBytes(len(list)))
	return bytesField(b, valueArray, list)
}

// textAttr adds an attribute with a valid text to a message that has attributes in that field.
func textAttr(b []byte, field protowire.Number, key, value string) []byte {
	b = keyed(b, field, key, 1+protowire.SizeBytes(len(value)))
	return text(tag(b, valueString, protowire.BytesType), value) // an empty text is a value too
}

// keyed appends the beginning of an attribute whose value takes size bytes.
func keyed(b []byte, field protowire.Number, key string, size int) []byte {
	b = varint(tag(b, field, protowire.BytesType), uint64(2+protowire.SizeBytes(len(key))+protowire.SizeBytes(size)))
	b = text(tag(b, keyValueKey, protowire.BytesType), key)
	return varint(tag(b, keyValueValue, protowire.BytesType), uint64(size))
}
