package negotiate

import (
	"fmt"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"pinion/runtime/predict"
	"pinion/tests/assert"
)

func TestPrefer_Modes(t *testing.T) {
	within := func(d time.Duration) Mode { return Mode{Bounded: true, Wait: d} }
	async, stream, either := Mode{Kind: predict.Async}, Mode{Kind: predict.Stream},
		Mode{Kind: predict.Stream, OrObject: true}
	const years = 922337202 * time.Second
	for _, c := range []struct {
		accept, prefer []string
		want           Mode
	}{
		{nil, nil, Mode{}},
		{[]string{"*/*"}, nil, Mode{}},
		{[]string{"text/*"}, nil, Mode{}},
		{[]string{"application/json", "text/event-stream"}, nil, either},
		{[]string{"application/json , TEXT/event-stream;charset=utf-8"}, []string{"respond-async"}, either},
		{[]string{"text/event-stream, */*;q=0.5"}, nil, either},
		{[]string{"text/event-stream, application/json;q=0, */*"}, nil, stream},
		{[]string{"text/event-stream;q=0.5, application/json"}, nil, Mode{}},
		{[]string{"text/event-stream;q=0.5, application/*;q=0.9"}, []string{"respond-async"}, async},
		{[]string{"text/event-stream;q=0.5, application/json;q=0.4, */*"}, nil, either},
		{[]string{"text/event-stream; q=0.1"}, nil, stream},
		{[]string{"text/event-stream;q=0"}, nil, Mode{}},
		{[]string{"text/event-stream;x=1; Q = 0.000, text/html"}, nil, Mode{}},
		{[]string{"text/event-streams, xtext/event-stream"}, nil, Mode{}},
		{[]string{`x/y;z="a,text/event-stream,b"`}, nil, Mode{}},
		{[]string{`x/y;z="a\",text/event-stream`}, nil, Mode{}},
		{[]string{",,text/event-stream"}, nil, stream},

		{nil, []string{"respond-async"}, async},
		{nil, []string{" RESPOND-ASYNC "}, async},
		{nil, []string{"x", "y=1,respond-async"}, async},
		{nil, []string{"respond-async; foo=bar"}, async},
		{nil, []string{"wait=5, respond-async"}, async},
		{nil, []string{`respond-async=""`}, async},
		{nil, []string{`x="respond-async", "respond-async"`}, Mode{}},
		{nil, []string{`x="a\", respond-async"`}, Mode{}},
		{nil, []string{"respond-asynchronously", "x;respond-async"}, Mode{}},
		{nil, []string{"wait=10"}, within(10 * time.Second)},
		{nil, []string{`Wait = "7" ;x`}, within(7 * time.Second)},
		{nil, []string{"wait=0"}, within(0)},
		{nil, []string{"wait=1, wait=2", "wait=3"}, within(time.Second)},
		{nil, []string{"wait=no, wait=2"}, within(2 * time.Second)},
		{nil, []string{"wait=99999999999999999999999999"}, within(years)},
		{nil, []string{"wait", "wait=", `wait=""`, "wait=-1", "wait=1.5", `wait="1`, "await=1"}, Mode{}},
	} {
		var h fasthttp.RequestHeader
		for _, v := range c.accept {
			h.Add("Accept", v)
		}
		for _, v := range c.prefer {
			h.Add("Prefer", v)
		}
		got := ReadMode(&h)
		if got.Bounded && got.Wait > 365*24*time.Hour && c.want.Wait == years {
			got.Wait = years // longer than any wait
		}
		assert.Equal(t, fmt.Sprintf("Accept %q, Prefer %q", c.accept, c.prefer), got, c.want)
	}
}
