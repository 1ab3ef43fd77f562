package trace

import (
	"net/http"
	"testing"

	"pinion/tests/assert"
)

const (
	traceHex = "0af7651916cd43dd8448eb211c80319c"
	spanHex  = "b7ad6b7169203331"
)

// TestTracer_ReadsEachForm: headers of a request, and the context that is read.
func TestTracer_ReadsEachForm(t *testing.T) {
	sampled, not := "00-"+traceHex+"-"+spanHex+"-01", "00-"+traceHex+"-"+spanHex+"-00"
	for _, c := range []struct {
		name    string
		forms   []Form
		headers []string
		want    string
	}{
		{"W3C", nil, []string{"traceparent", sampled}, sampled},
		{"W3C by name", []Form{W3C}, []string{"traceparent", sampled}, sampled},
		{"a form that is not read", []Form{W3C}, []string{"b3", traceHex + "-" + spanHex + "-1"}, ""},
		{"W3C where it is not read", []Form{B3}, []string{"traceparent", sampled}, ""},
		{"b3", []Form{B3}, []string{"b3", traceHex + "-" + spanHex + "-1"}, sampled},
		{"b3 with a parent", []Form{B3}, []string{"b3", traceHex + "-" + spanHex + "-0-" + spanHex}, not},
		{"b3 that debugs", []Form{B3}, []string{"b3", traceHex + "-" + spanHex + "-d"}, sampled},
		{"b3 without a decision", []Form{B3}, []string{"b3", traceHex + "-" + spanHex}, not},
		{
			"b3 of 64 bits",
			[]Form{B3},
			[]string{"b3", traceHex[16:] + "-" + spanHex + "-1"},
			"00-0000000000000000" + traceHex[16:] + "-" + spanHex + "-01",
		},
		{"b3 that only decides", []Form{B3}, []string{"b3", "0"}, ""},
		{"a malformed b3", []Form{B3}, []string{"b3", "x-" + spanHex + "-1"}, ""},
		{
			"many headers",
			[]Form{B3Multi},
			[]string{"X-B3-TraceId", traceHex, "X-B3-SpanId", spanHex, "X-B3-Sampled", "1"},
			sampled,
		},
		{
			"many headers by b3",
			[]Form{B3},
			[]string{"X-B3-TraceId", traceHex, "X-B3-SpanId", spanHex, "X-B3-Sampled", "true"},
			sampled,
		},
		{
			"many headers that debug",
			[]Form{B3Multi},
			[]string{"X-B3-TraceId", traceHex, "X-B3-SpanId", spanHex, "X-B3-Flags", "1"},
			sampled,
		},
		{"one header by b3multi", []Form{B3Multi}, []string{"b3", traceHex + "-" + spanHex + "-1"}, sampled},
		{"Jaeger", []Form{Jaeger}, []string{"uber-trace-id", traceHex + ":" + spanHex + ":0:1"}, sampled},
		{
			"the last of several",
			[]Form{W3C, B3},
			[]string{"traceparent", not, "b3", traceHex + "-" + spanHex + "-1"},
			sampled,
		},
		{"the other of several", []Form{W3C, B3}, []string{"traceparent", not}, not},
	} {
		h := http.Header{}
		for i := 0; i < len(c.headers); i += 2 {
			h.Set(c.headers[i], c.headers[i+1])
		}
		tracer := &Tracer{Forms: c.forms}
		got := tracer.read(h.Get)
		assert.Equal(t, c.name, got.Parent(), c.want)
	}
}

// TestTrace_WritesEachForm: what one server writes another one reads.
func TestTrace_WritesEachForm(t *testing.T) {
	want, _ := Parse("00-"+traceHex+"-"+spanHex+"-01", "")
	for _, form := range []Form{W3C, B3, B3Multi, Jaeger} {
		tracer := &Tracer{Forms: []Form{form}, Sample: func(ID, Context) bool { return true }}
		h := http.Header{}
		tracer.Root().Headers(want, h.Set)
		got := tracer.read(h.Get)
		assert.True(t, got == want && (h.Get("traceparent") == "" || form == W3C), "%d: got %+v by %v, want %+v", form, got, h, want)
	}
}
