package httpd

import (
	"testing"

	"pinion/runtime/predict"
	"pinion/tests/assert"
)

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
