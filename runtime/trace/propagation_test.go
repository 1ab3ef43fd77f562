package trace

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	"pinion/tests/assert"
)

// TestReadPropagation_Values: which values of the headers are handed on.
func TestReadPropagation_Values(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", MaxRequestID+1)
	for _, c := range []struct {
		header http.Header
		traced bool
		want   Propagation
	}{
		{http.Header{}, false, Propagation{}},
		{
			http.Header{"X-Request-Id": {"a", "b"}, "Traceparent": {"p"}, "Tracestate": {"a=1", "b=2"}},
			false,
			Propagation{RequestID: "a", TraceParent: "p", TraceState: "a=1,b=2"},
		},
		{
			http.Header{"X-Request-Id": {"a"}, "Traceparent": {"p"}, "Tracestate": {"a=1"}},
			true,
			Propagation{RequestID: "a"},
		},
		{http.Header{"X-Request-Id": {long[1:]}, "Tracestate": {"a=1"}}, false, Propagation{RequestID: long[1:]}},
		{http.Header{"X-Request-Id": {long}, "Traceparent": {"p\xff"}, "Tracestate": {"a=1"}}, false, Propagation{}},
		{http.Header{"Traceparent": {"p"}, "Tracestate": {"a=1", "b=\t"}}, false, Propagation{TraceParent: "p"}},
	} {
		assert.Equal(t, fmt.Sprintf("headers %v, traced %v", c.header, c.traced), ReadPropagation(c.traced, c.header.Values), c.want)
	}
}

// TestPropagation_SetHeaders: a span replaces the client's context, and net/http gets no header that it refuses.
func TestPropagation_SetHeaders(t *testing.T) {
	t.Parallel()
	p := Propagation{RequestID: "a", TraceParent: "p", TraceState: "b=\x01"}
	tracer := &Tracer{Sample: func(ID, Context) bool { return true }}
	root := tracer.Root()
	span := root.New()
	for _, c := range []struct {
		trace *Trace
		want  http.Header
	}{
		{nil, http.Header{"X-Request-Id": {"a"}, "Traceparent": {"p"}}},
		{root, http.Header{"X-Request-Id": {"a"}, "Traceparent": {span.Parent()}}},
	} {
		got := http.Header{}
		p.SetHeaders(c.trace, span, got.Set)
		if !maps.EqualFunc(got, c.want, func(a, b []string) bool { return strings.Join(a, "|") == strings.Join(b, "|") }) {
			t.Errorf("got %v, want %v", got, c.want)
		}
	}
}
