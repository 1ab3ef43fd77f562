package httpd

import (
	"fmt"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"pinion/runtime/predict"
	"pinion/tests/assert"
)

func TestPrefer_Modes(t *testing.T) {
	within := func(d time.Duration) answerMode { return answerMode{bounded: true, wait: d} }
	async, stream, either := answerMode{mode: predict.Async}, answerMode{mode: predict.Stream},
		answerMode{mode: predict.Stream, orObject: true}
	const years = 922337202 * time.Second
	for _, c := range []struct {
		accept, prefer []string
		want           answerMode
	}{
		{nil, nil, answerMode{}},
		{[]string{"*/*"}, nil, answerMode{}},
		{[]string{"text/*"}, nil, answerMode{}},
		{[]string{"application/json", "text/event-stream"}, nil, either},
		{[]string{"application/json , TEXT/event-stream;charset=utf-8"}, []string{"respond-async"}, either},
		{[]string{"text/event-stream, */*;q=0.5"}, nil, either},
		{[]string{"text/event-stream, application/json;q=0, */*"}, nil, stream},
		{[]string{"text/event-stream;q=0.5, application/json"}, nil, answerMode{}},
		{[]string{"text/event-stream;q=0.5, application/*;q=0.9"}, []string{"respond-async"}, async},
		{[]string{"text/event-stream;q=0.5, application/json;q=0.4, */*"}, nil, either},
		{[]string{"text/event-stream; q=0.1"}, nil, stream},
		{[]string{"text/event-stream;q=0"}, nil, answerMode{}},
		{[]string{"text/event-stream;x=1; Q = 0.000, text/html"}, nil, answerMode{}},
		{[]string{"text/event-streams, xtext/event-stream"}, nil, answerMode{}},
		{[]string{`x/y;z="a,text/event-stream,b"`}, nil, answerMode{}},
		{[]string{`x/y;z="a\",text/event-stream`}, nil, answerMode{}},
		{[]string{",,text/event-stream"}, nil, stream},

		{nil, []string{"respond-async"}, async},
		{nil, []string{" RESPOND-ASYNC "}, async},
		{nil, []string{"x", "y=1,respond-async"}, async},
		{nil, []string{"respond-async; foo=bar"}, async},
		{nil, []string{"wait=5, respond-async"}, async},
		{nil, []string{`respond-async=""`}, async},
		{nil, []string{`x="respond-async", "respond-async"`}, answerMode{}},
		{nil, []string{`x="a\", respond-async"`}, answerMode{}},
		{nil, []string{"respond-asynchronously", "x;respond-async"}, answerMode{}},
		{nil, []string{"wait=10"}, within(10 * time.Second)},
		{nil, []string{`Wait = "7" ;x`}, within(7 * time.Second)},
		{nil, []string{"wait=0"}, within(0)},
		{nil, []string{"wait=1, wait=2", "wait=3"}, within(time.Second)},
		{nil, []string{"wait=no, wait=2"}, within(2 * time.Second)},
		{nil, []string{"wait=99999999999999999999999999"}, within(years)},
		{nil, []string{"wait", "wait=", `wait=""`, "wait=-1", "wait=1.5", `wait="1`, "await=1"}, answerMode{}},
	} {
		var h fasthttp.RequestHeader
		for _, v := range c.accept {
			h.Add("Accept", v)
		}
		for _, v := range c.prefer {
			h.Add("Prefer", v)
		}
		got := readMode(&h)
		if got.bounded && got.wait > 365*24*time.Hour && c.want.wait == years {
			got.wait = years // longer than any wait
		}
		assert.Equal(t, fmt.Sprintf("Accept %q, Prefer %q", c.accept, c.prefer), got, c.want)
	}
}

func TestPrefer_WhatRequestSays(t *testing.T) {
	f := newFake()
	f.training = true
	c := serve(t, f, Options{}).dial(t)
	const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	c.send(ask("PUT", "/trainings/a",
		prefer("respond-async")+"traceparent: "+parent+"\r\nTracestate: a=1\r\ntracestate: b=2\r\n",
		`{"webhook":"http://x/","webhook_events_filter":["logs"],"output_file_prefix":"https://y","created_at":"2020-01-01T00:00:00+01:00"}`))
	c.want(202)
	got := f.request()
	if got.ID != "a" || !got.Idempotent || got.Kind != predict.KindTraining || got.Mode != predict.Async ||
		got.TraceParent != parent || got.TraceState != "a=1,b=2" || got.Webhook != "http://x/" ||
		got.WebhookEvents != predict.OnLogs ||
		got.OutputPrefix != "https://y" || got.CreatedText != "2020-01-01T00:00:00+01:00" {
		t.Errorf("got %+v, want what its headers and body ask for", got)
	}
	c.send(ask("POST", "/predictions", asJSON+"Traceparent: \xff\r\nTracestate: a=1\r\n", `{"id":"b"}`))
	c.want(200)
	if got := f.request(); got.ID != "b" || got.Idempotent || got.Kind != predict.KindPrediction ||
		got.Mode != predict.Sync || got.TraceParent != "" || got.TraceState != "" || got.WebhookEvents != 0 {
		t.Errorf("got %+v, want a synchronous prediction without a trace", got)
	}
	// A bounded request goes on without its client, so it is not synchronous.
	c.send(ask("POST", "/predictions", prefer("wait=600"), `{}`))
	c.want(200)
	assert.Equal(t, "mode", f.request().Mode, predict.Async)
}

// TestAccept_ObjectFromModelThatDoesNotStream: a client that takes both gets the object, in the mode that Prefer
// names.
func TestAccept_ObjectFromModelThatDoesNotStream(t *testing.T) {
	f := newFake()
	f.plain, f.training = true, true
	c := serve(t, f, Options{}).dial(t)
	const both = asJSON + "Accept: application/json, text/event-stream\r\n"
	for _, request := range []struct {
		text   string
		status int
	}{
		{ask("POST", "/predictions", both, `{"id":"a"}`), 200},
		{ask("PUT", "/predictions/b", both, `{}`), 200},
		{ask("POST", "/predictions", both+"Prefer: respond-async\r\n", `{"id":"c"}`), 202},
		{ask("POST", "/trainings", both, `{"id":"d"}`), 200},
		{ask("POST", "/predictions", asJSON+"Accept: text/event-stream\r\n", `{"id":"e"}`), 406},
	} {
		c.send(request.text)
		c.want(request.status)
	}
}
