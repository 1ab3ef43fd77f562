package service

import (
	"testing"

	"pinion/tests/assert"

	"pinion/runtime/rawjson"
	"pinion/runtime/trace"
)

func TestTrace_ContextOf(t *testing.T) {
	const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	for _, c := range []struct{ context, parent, state, want string }{
		{``, "", "", ``},
		{`{"user":"ann"}`, "", "a=1", `{"user":"ann"}`},
		{``, parent, "", `{"traceparent":"` + parent + `"}`},
		{` { } `, parent, `a="b"`, `{"traceparent":"` + parent + `","tracestate":"a=\"b\""}`},
		{` { "user":"ann"}`, parent, "a=1", `{"traceparent":"` + parent + `","tracestate":"a=1","user":"ann"}`},
		{`{"tracestate":"own"}`, parent, "a=1", `{"traceparent":"` + parent + `","tracestate":"own"}`},
		{`{"trace\u0070arent":"own"}`, parent, "a=1", `{"trace\u0070arent":"own"}`},
	} {
		in := trace.Propagation{TraceParent: c.parent, TraceState: c.state}
		got := contextOf([]byte(c.context), in)
		assert.Equal(t, c.context, string(got), c.want)
		assert.False(t, len(got) > 0 && rawjson.Check(got) != nil, "%s: %s is not JSON", c.context, got)
	}
}
