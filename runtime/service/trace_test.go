package service

import (
	"testing"

	"pinion/runtime/rawjson"
	"pinion/runtime/trace"
)

func TestTrace_ContextOf(t *testing.T) {
	const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	for _, c := range []struct {
		context, parent, state, want string
	}{
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
		if string(got) != c.want {
			t.Errorf("%s: got %s, want %s", c.context, got, c.want)
		}
		if len(got) > 0 && rawjson.Check(got) != nil {
			t.Errorf("%s: %s is not JSON, want no error", c.context, got)
		}
	}
}
