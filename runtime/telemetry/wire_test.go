package telemetry

import (
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"pinion/runtime/trace"
)

func textValue(key, value string) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: value}}}
}

// TestSpansAreEncodedAsProtobufDoes: what is written reads as the message that OTLP's own types make.
func TestSpansAreEncodedAsProtobufDoes(t *testing.T) {
	at := time.Unix(1_700_000_000, 123)
	linked := trace.Context{Trace: trace.ID{9}, Span: trace.SpanID{8}, Sampled: true, State: "c=d"}
	full := &trace.Span{
		Name: "a span", Kind: trace.Client, Parent: trace.SpanID{7}, Remote: true, Start: at, End: at.Add(time.Second),
		Context: trace.Context{Trace: trace.ID{1, 15: 2}, Span: trace.SpanID{3, 7: 4}, Sampled: true, State: "a=b"},
		Attrs:   []trace.Attr{trace.Text("text", "wrong \xff byte"), trace.Text("empty", ""), trace.Int("number", -5), trace.Float("float", 0.5), trace.Texts("texts", []string{"a", ""})},
		Links:   []trace.Context{linked},
	}
	full.Fail(at, "kind", "message")
	plain := &trace.Span{Name: "b", Context: trace.Context{Trace: trace.ID{1}, Span: trace.SpanID{2}}, Start: at, End: at}

	var e encoder
	encoded := e.append(e.append(nil, full), plain)
	r := resource.NewSchemaless(attribute.String("service.name", "cog"))
	wire, err := proto.Marshal(resourceSpans(r, "1.0", encoded))
	if err != nil {
		t.Fatal(err)
	}
	var got tracepb.ResourceSpans
	if err := proto.Unmarshal(wire, &got); err != nil {
		t.Fatal(err)
	}
	want := &tracepb.ResourceSpans{
		Resource: got.GetResource(),
		ScopeSpans: []*tracepb.ScopeSpans{{
			Scope: &commonpb.InstrumentationScope{Name: scope, Version: "1.0"},
			Spans: []*tracepb.Span{{
				TraceId: full.Context.Trace[:], SpanId: full.Context.Span[:], TraceState: "a=b", ParentSpanId: full.Parent[:], Name: "a span",
				Kind: tracepb.Span_SPAN_KIND_CLIENT, StartTimeUnixNano: uint64(at.UnixNano()), EndTimeUnixNano: uint64(at.UnixNano()) + 1e9,
				Flags: 0x301,
				Attributes: []*commonpb.KeyValue{
					textValue("text", "wrong \uFFFD byte"), textValue("empty", ""),
					{Key: "number", Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: -5}}},
					{Key: "float", Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_DoubleValue{DoubleValue: 0.5}}},
					{Key: "texts", Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_ArrayValue{ArrayValue: &commonpb.ArrayValue{
						Values: []*commonpb.AnyValue{textValue("", "a").Value, textValue("", "").Value},
					}}}},
				},
				Events: []*tracepb.Span_Event{{
					TimeUnixNano: uint64(at.UnixNano()), Name: "exception",
					Attributes: []*commonpb.KeyValue{textValue("exception.type", "kind"), textValue("exception.message", "message")},
				}},
				Links:  []*tracepb.Span_Link{{TraceId: linked.Trace[:], SpanId: linked.Span[:], TraceState: "c=d", Flags: 0x101}},
				Status: &tracepb.Status{Message: "message", Code: tracepb.Status_STATUS_CODE_ERROR},
			}, {
				TraceId: plain.Context.Trace[:], SpanId: plain.Context.Span[:], Name: "b", Kind: tracepb.Span_SPAN_KIND_INTERNAL,
				StartTimeUnixNano: uint64(at.UnixNano()), EndTimeUnixNano: uint64(at.UnixNano()), Flags: 0x100,
			}},
		}},
	}
	if !proto.Equal(&got, want) {
		t.Errorf("read:\n%v\nwant:\n%v", &got, want)
	}
	if a := got.GetResource().GetAttributes(); len(a) != 1 || !proto.Equal(a[0], textValue("service.name", "cog")) {
		t.Errorf("the resource is %v", a)
	}
}
