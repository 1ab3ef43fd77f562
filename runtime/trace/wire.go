package trace

import (
	"encoding/binary"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// The numbers of fields in opentelemetry/proto/trace/v1/trace.proto and common/v1/common.proto.
const (
	scopeSpansSpans = 2

	spanTraceID, spanID, spanState, spanParent, spanName, spanKind, spanStart, spanEnd = 1, 2, 3, 4, 5, 6, 7, 8
	spanAttributes, spanEvents, spanLinks, spanStatus, spanFlags                       = 9, 11, 13, 15, 16

	eventTime, eventName, eventAttributes         = 1, 2, 3
	linkTraceID, linkSpanID, linkState, linkFlags = 1, 2, 3, 6
	statusMessage, statusCode, statusError        = 2, 3, 2
	keyValueKey, keyValueValue                    = 1, 2

	valueString, valueInt64, valueDouble, valueArray, arrayValues = 1, 3, 4, 5, 1

	kindInternal                = 1
	flagsHasRemote, flagsRemote = 1 << 8, 1 << 9
)

// fixed has the fields of every span, without their values. The parent's is last, because a span without a parent ends
// before it.
var fixed = [...]byte{
	0: spanTraceID<<3 | byte(protowire.BytesType), 1: 16,
	18: spanID<<3 | byte(protowire.BytesType), 19: 8,
	28: spanKind<<3 | byte(protowire.VarintType),
	30: spanStart<<3 | byte(protowire.Fixed64Type),
	39: spanEnd<<3 | byte(protowire.Fixed64Type),
	48: spanFlags<<3&0x7f | byte(protowire.Fixed32Type) | 0x80, 49: spanFlags >> 4,
	54: spanParent<<3 | byte(protowire.BytesType), 55: 8, 63: 0,
}

// maxTag is what a span takes at most beside its fields: its tag, its size, and the bytes that a span without a parent
// leaves out.
const maxTag = 32

// appendTo appends the span in OTLP's wire format, as a field of ScopeSpans. The SDK first builds a message of a dozen
// objects for each span, which costs more than the rest of a trace.
func (s *Span) appendTo(b []byte) []byte {
	var rest []byte
	if s.Context.State != "" || s.Failed || s.Links != nil {
		rest = s.rest()
	}
	front := len(fixed)
	if s.Parent == (SpanID{}) {
		front = 54
	}
	size := front + 1 + protowire.SizeBytes(len(s.Name)) + len(s.Attrs) + len(rest)
	b = varint(tag(slices.Grow(b, maxTag+size), scopeSpansSpans, protowire.BytesType), uint64(size))
	f := (*[len(fixed)]byte)(b[len(b) : len(b)+len(fixed)])
	*f = fixed
	*(*ID)(f[2:]), *(*SpanID)(f[20:]) = s.Context.Trace, s.Context.Span
	f[29] = byte(s.Kind) + kindInternal
	binary.LittleEndian.PutUint64(f[31:], uint64(s.Start))
	binary.LittleEndian.PutUint64(f[40:], uint64(s.End))
	binary.LittleEndian.PutUint32(f[50:], flagsOf(&s.Context, s.Remote))
	*(*SpanID)(f[56:]) = s.Parent
	b = text(tag(b[:len(b)+front], spanName, protowire.BytesType), s.Name)
	if b = append(b, s.Attrs...); rest != nil {
		b = append(b, rest...)
	}
	return b
}

// rest returns the fields that most spans do not have.
func (s *Span) rest() []byte {
	b := textField(nil, spanState, s.Context.State)
	if s.Exception.Type != "" {
		part := timeField(nil, eventTime, s.Raised)
		part = textField(part, eventName, "exception")
		part = textAttr(part, eventAttributes, "exception.type", valid(s.Exception.Type))
		part = textAttr(part, eventAttributes, "exception.message", valid(s.Exception.Message))
		if s.Exception.Stack != "" {
			part = textAttr(part, eventAttributes, "exception.stacktrace", valid(s.Exception.Stack))
		}
		b = bytesField(b, spanEvents, part)
	}
	for _, link := range s.Links {
		part := bytesField(nil, linkTraceID, link.Trace[:])
		part = bytesField(part, linkSpanID, link.Span[:])
		part = textField(part, linkState, link.State)
		part = binary.LittleEndian.AppendUint32(tag(part, linkFlags, protowire.Fixed32Type), flagsOf(&link, false))
		b = bytesField(b, spanLinks, part)
	}
	if s.Failed {
		b = bytesField(b, spanStatus, varintField(textField(nil, statusMessage, s.Message), statusCode, statusError))
	}
	return b
}

// flagsOf returns the W3C flags of a context, and whether the parent of its span is another program's.
func flagsOf(c *Context, remote bool) (flags uint32) {
	flags = flagsHasRemote
	if remote {
		flags |= flagsRemote
	}
	if c.Sampled {
		flags |= 1
	}
	return flags
}

// tag appends the tag of a field whose number is below 16, as all but one are: the tag is a byte. Unlike protowire's
// function it is inlined, as is varint.
func tag(b []byte, field protowire.Number, kind protowire.Type) []byte {
	return append(b, byte(field)<<3|byte(kind))
}

func varint(b []byte, n uint64) []byte {
	for ; n >= 1<<7; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(b, byte(n))
}

func text(b []byte, value string) []byte { return append(varint(b, uint64(len(value))), value...) }

func bytesField(b []byte, field protowire.Number, value []byte) []byte {
	return append(varint(tag(b, field, protowire.BytesType), uint64(len(value))), value...)
}

func textField(b []byte, field protowire.Number, value string) []byte {
	if value == "" {
		return b
	}
	return text(tag(b, field, protowire.BytesType), valid(value))
}

func varintField(b []byte, field protowire.Number, value uint64) []byte {
	return varint(tag(b, field, protowire.VarintType), value)
}

func timeField(b []byte, field protowire.Number, at int64) []byte {
	return binary.LittleEndian.AppendUint64(tag(b, field, protowire.Fixed64Type), uint64(at))
}

// valid returns a text as protobuf requires it, because a collector refuses a whole batch for one invalid byte.
func valid(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
