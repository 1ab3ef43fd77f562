package telemetry

import (
	"encoding/binary"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/otel/sdk/resource"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"

	"pinion/runtime/trace"
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

	flagsHasRemote, flagsRemote = 1 << 8, 1 << 9
)

// encoder writes spans in OTLP's wire format. The SDK builds a message of a dozen objects for each span first, which costs
// more than all else that a trace does. A message inside another one follows its size, which is computed first where that is
// cheap, so that nothing is copied twice.
type encoder struct{ span []byte }

// append adds a span as a field of ScopeSpans.
func (e *encoder) append(to []byte, s *trace.Span) []byte {
	b := bytesField(e.span[:0], spanTraceID, s.Context.Trace[:])
	b = bytesField(b, spanID, s.Context.Span[:])
	b = textField(b, spanState, s.Context.State)
	if s.Parent != (trace.SpanID{}) {
		b = bytesField(b, spanParent, s.Parent[:])
	}
	b = textField(b, spanName, s.Name)
	b = varintField(b, spanKind, uint64(s.Kind)+uint64(tracepb.Span_SPAN_KIND_INTERNAL))
	b = timeField(b, spanStart, s.Start)
	b = timeField(b, spanEnd, s.End)
	b = attributes(b, spanAttributes, s.Attrs)
	for _, event := range s.Events {
		part := timeField(nil, eventTime, event.At)
		part = textField(part, eventName, event.Name)
		b = bytesField(b, spanEvents, attributes(part, eventAttributes, event.Attrs))
	}
	for _, link := range s.Links {
		part := bytesField(nil, linkTraceID, link.Trace[:])
		part = bytesField(part, linkSpanID, link.Span[:])
		part = textField(part, linkState, link.State)
		b = bytesField(b, spanLinks, fixed32Field(part, linkFlags, flagsOf(link, false)))
	}
	if s.Failed {
		b = bytesField(b, spanStatus, varintField(textField(nil, statusMessage, s.Message), statusCode, statusError))
	}
	e.span = fixed32Field(b, spanFlags, flagsOf(s.Context, s.Remote))
	return bytesField(to, scopeSpansSpans, e.span)
}

func attributes(b []byte, field protowire.Number, list []trace.Attr) []byte {
	for i := range list {
		a := &list[i]
		var value string
		var array []byte
		size := 1 // of the AnyValue: a tag, and
		switch a.Type {
		case trace.TypeInt:
			size += protowire.SizeVarint(uint64(a.Int))
		case trace.TypeFloat:
			size += protowire.SizeFixed64()
		case trace.TypeTexts:
			array = arrayOf(a.Texts)
			size += protowire.SizeBytes(len(array))
		default:
			value = valid(a.Text)
			size += protowire.SizeBytes(len(value))
		}
		b = tag(b, field, protowire.BytesType)
		b = varint(b, uint64(2+protowire.SizeBytes(len(a.Key))+protowire.SizeBytes(size)))
		b = text(tag(b, keyValueKey, protowire.BytesType), a.Key)
		b = varint(tag(b, keyValueValue, protowire.BytesType), uint64(size))
		switch a.Type {
		case trace.TypeInt:
			b = varintField(b, valueInt64, uint64(a.Int))
		case trace.TypeFloat:
			b = protowire.AppendFixed64(tag(b, valueDouble, protowire.Fixed64Type), math.Float64bits(a.Float))
		case trace.TypeTexts:
			b = bytesField(b, valueArray, array)
		default: // an empty text is a value too
			b = text(tag(b, valueString, protowire.BytesType), value)
		}
	}
	return b
}

// arrayOf is a list of texts as an ArrayValue.
func arrayOf(texts []string) (b []byte) {
	for _, text := range texts {
		b = bytesField(b, arrayValues, bytesField(nil, valueString, []byte(valid(text))))
	}
	return b
}

// flagsOf are the W3C flags of a context, and whether the parent of its span is another program's.
func flagsOf(c trace.Context, remote bool) (flags uint32) {
	flags = flagsHasRemote
	if remote {
		flags |= flagsRemote
	}
	if c.Sampled {
		flags |= 1
	}
	return flags
}

// tag begins a field with a number below 16, as all but one have: its tag is a byte. Unlike protowire's function it is inlined,
// as is varint.
func tag(b []byte, field protowire.Number, kind protowire.Type) []byte {
	return append(b, byte(field)<<3|byte(kind))
}

func varint(b []byte, n uint64) []byte {
	if n < 1<<7 {
		return append(b, byte(n))
	}
	return protowire.AppendVarint(b, n)
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

func timeField(b []byte, field protowire.Number, at time.Time) []byte {
	return binary.LittleEndian.AppendUint64(tag(b, field, protowire.Fixed64Type), uint64(at.UnixNano()))
}

func fixed32Field(b []byte, field protowire.Number, value uint32) []byte {
	return binary.LittleEndian.AppendUint32(protowire.AppendTag(b, field, protowire.Fixed32Type), value)
}

// valid is a text as protobuf requires it: a collector refuses a whole batch for one wrong byte.
func valid(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// resourceSpans wraps encoded spans. They are put in as unknown fields, which protobuf writes as they are.
func resourceSpans(r *resource.Resource, version string, encoded []byte) *tracepb.ResourceSpans {
	scoped := &tracepb.ScopeSpans{Scope: &commonpb.InstrumentationScope{Name: scope, Version: version}}
	scoped.ProtoReflect().SetUnknown(encoded)
	about := &resourcepb.Resource{}
	for _, a := range r.Attributes() {
		about.Attributes = append(about.Attributes, &commonpb.KeyValue{
			Key: string(a.Key), Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: valid(a.Value.String())}},
		})
	}
	return &tracepb.ResourceSpans{Resource: about, ScopeSpans: []*tracepb.ScopeSpans{scoped}, SchemaUrl: r.SchemaURL()}
}
