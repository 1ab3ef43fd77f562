package telemetry

import (
	"encoding/binary"
	"math"
	"strings"
	"time"

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
// more than all else that a trace does.
type encoder struct{ span, part, value []byte }

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
	b = e.attributes(b, spanAttributes, s.Attrs)
	for _, event := range s.Events {
		part := timeField(nil, eventTime, event.At)
		part = textField(part, eventName, event.Name)
		b = bytesField(b, spanEvents, e.attributes(part, eventAttributes, event.Attrs))
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

func (e *encoder) attributes(to []byte, field protowire.Number, list []trace.Attr) []byte {
	for _, a := range list {
		switch e.value = e.value[:0]; a.Type {
		case trace.TypeInt:
			e.value = varintField(e.value, valueInt64, uint64(a.Int))
		case trace.TypeFloat:
			e.value = protowire.AppendTag(e.value, valueDouble, protowire.Fixed64Type)
			e.value = protowire.AppendFixed64(e.value, math.Float64bits(a.Float))
		case trace.TypeTexts:
			e.value = bytesField(e.value, valueArray, arrayOf(a.Texts))
		default: // an empty text is a value too
			e.value = bytesField(e.value, valueString, []byte(valid(a.Text)))
		}
		e.part = textField(e.part[:0], keyValueKey, a.Key)
		e.part = bytesField(e.part, keyValueValue, e.value)
		to = bytesField(to, field, e.part)
	}
	return to
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

func bytesField(b []byte, field protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), value)
}

func textField(b []byte, field protowire.Number, value string) []byte {
	if value == "" {
		return b
	}
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), valid(value))
}

func varintField(b []byte, field protowire.Number, value uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), value)
}

func timeField(b []byte, field protowire.Number, at time.Time) []byte {
	return binary.LittleEndian.AppendUint64(protowire.AppendTag(b, field, protowire.Fixed64Type), uint64(at.UnixNano()))
}

func fixed32Field(b []byte, field protowire.Number, value uint32) []byte {
	return binary.LittleEndian.AppendUint32(protowire.AppendTag(b, field, protowire.Fixed32Type), value)
}

// valid is a text as protobuf requires it: a collector refuses a whole batch for one wrong byte.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

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
