package trace

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"pinion/tests/assert"
)

func textValue(key, value string) *commonpb.KeyValue {
	return &commonpb.KeyValue{
		Key:   key,
		Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: value}},
	}
}

// TestWire_SpansAreEncodedAsProtobufDoes: what is written reads as the message that OTLP's own types make.
func TestWire_SpansAreEncodedAsProtobufDoes(t *testing.T) {
	const at = 1_700_000_000_000_000_123
	linked := Context{Trace: ID{9}, Span: SpanID{8}, Sampled: true, State: "c=d"}
	full := &Span{
		Name: "a span", Kind: Client, Parent: SpanID{7}, Remote: true, Start: at, End: at + 1e9,
		Context: Context{Trace: ID{1, 15: 2}, Span: SpanID{3, 7: 4}, Sampled: true, State: "a=b"},
		Attrs: Attrs{}.Text("text", "wrong \xff byte").Text("empty", "").Int("number", -5).Float("float", 0.5).Texts(
			"texts", []string{"a", ""}),
		Links: []Context{linked},
	}
	full.Raise(at, "kind: message", Exception{Type: "kind", Message: "message", Stack: "stack"})
	plain := &Span{Name: "b", Context: Context{Trace: ID{1}, Span: SpanID{2}}, Start: at, End: at}

	var got tracepb.ScopeSpans
	assert.NoError(t, proto.Unmarshal(plain.appendTo(full.appendTo(nil)), &got))
	want := &tracepb.ScopeSpans{Spans: []*tracepb.Span{{
		TraceId: full.Context.Trace[:], SpanId: full.Context.Span[:], TraceState: "a=b", ParentSpanId: full.Parent[:],
		Name: "a span",
		Kind: tracepb.Span_SPAN_KIND_CLIENT, StartTimeUnixNano: at,
		EndTimeUnixNano: at + 1e9,
		Flags:           0x301,
		Attributes: []*commonpb.KeyValue{
			textValue("text", "wrong \uFFFD byte"), textValue("empty", ""),
			{Key: "number", Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: -5}}},
			{Key: "float", Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_DoubleValue{DoubleValue: 0.5}}},
			{Key: "texts", Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_ArrayValue{ArrayValue: &commonpb.ArrayValue{
				Values: []*commonpb.AnyValue{textValue("", "a").Value, textValue("", "").Value},
			}}}},
		},
		Events: []*tracepb.Span_Event{{
			TimeUnixNano: at, Name: "exception",
			Attributes: []*commonpb.KeyValue{
				textValue("exception.type", "kind"), textValue("exception.message", "message"), textValue("exception.stacktrace", "stack"),
			},
		}},
		Links:  []*tracepb.Span_Link{{TraceId: linked.Trace[:], SpanId: linked.Span[:], TraceState: "c=d", Flags: 0x101}},
		Status: &tracepb.Status{Message: "kind: message", Code: tracepb.Status_STATUS_CODE_ERROR},
	}, {
		TraceId: plain.Context.Trace[:], SpanId: plain.Context.Span[:], Name: "b", Kind: tracepb.Span_SPAN_KIND_INTERNAL,
		StartTimeUnixNano: at, EndTimeUnixNano: at, Flags: 0x100,
	}}}
	assert.True(t, proto.Equal(&got, want), "read:\n%v\nwant:\n%v", &got, want)
}

// TestWire_SpansOfAllSizesAreRead: of the sizes at which the size itself takes one byte more too.
func TestWire_SpansOfAllSizesAreRead(t *testing.T) {
	var encoded []byte
	var want []string
	for _, from := range []int{0, 1<<14 - 200, 1<<21 - 80} {
		for size := from; size < from+200; size += 1 + size>>20*10 {
			s := &Span{Name: strings.Repeat("x", size)}
			want, encoded = append(want, s.Name), s.appendTo(encoded)
		}
	}
	var got tracepb.ScopeSpans
	assert.NoError(t, proto.Unmarshal(encoded, &got))
	assert.EqualNow(t, "number of spans", len(got.GetSpans()), len(want))
	for i, s := range got.GetSpans() {
		assert.Equal(t, fmt.Sprintf("the name of %d bytes", len(want[i])), s.GetName(), want[i])
	}
}

// TestWire_GroupsAreSent: with as many spans at once as are taken, and only their number where they would be dropped.
func TestWire_GroupsAreSent(t *testing.T) {
	var got []string
	full := false
	tracer := &Tracer{
		Sample: func(ID, Context) bool { return true }, Full: func() bool { return full }, Most: 2,
		Export: func(front, worker []byte, n int) {
			line := strconv.Itoa(n)
			for _, encoded := range [][]byte{front, worker} {
				var spans tracepb.ScopeSpans
				assert.ErrorIs(t, "proto.Unmarshal", proto.Unmarshal(encoded, &spans), nil)
				line += ":"
				for _, s := range spans.GetSpans() {
					line += " " + s.GetName() + s.GetStatus().GetMessage()
				}
			}
			got = append(got, line)
		},
	}
	for range 2 {
		first := tracer.Root()
		g := first.Group()
		for _, name := range []string{"a", "w", "b"} {
			s := &Span{Context: first.New(), Name: name, Worker: name == "w"}
			if s.Worker {
				s.Fail(time.Now(), "kind", " fails")
			}
			g.Add(s)
		}
		g.Send()
		full = true
	}
	assert.EqualSlices(t, "exported", got, []string{"2: a: w fails", "1: b:", "2::", "1::"})
}
