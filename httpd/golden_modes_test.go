package httpd

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"pinion/httpd/answers"
	"pinion/runtime/health"
	"pinion/runtime/predict"
	"pinion/tests/assert"
)

// ask returns a raw request with a body.
func ask(method, path, headers, body string) string {
	return fmt.Sprintf("%s %s HTTP/1.1\r\nHost: x\r\n%sContent-Length: %d\r\n\r\n%s", method, path, headers, len(body),
		body)
}

const (
	asJSON   = "Content-Type: application/json\r\n"
	asStream = asJSON + "Accept: text/event-stream\r\n"
)

func prefer(preferences ...string) string {
	var b strings.Builder
	b.WriteString(asJSON)
	for _, p := range preferences {
		b.WriteString("Prefer: " + p + "\r\n")
	}
	return b.String()
}

func onHold(f *fake) { f.hold = true }

// holds starts a prediction that stays in flight; its client waits for it.
func holds(request string) func(t *testing.T, s *site, f *fake) {
	return func(t *testing.T, s *site, f *fake) {
		t.Helper()
		f.hold = true
		s.dial(t).send(request)
		wait(t, f.started, "the prediction in flight")
	}
}

// done runs a prediction and reads its answer.
func done(request string) func(t *testing.T, s *site, f *fake) {
	return func(t *testing.T, s *site, _ *fake) {
		t.Helper()
		c := s.dial(t)
		c.send(request)
		c.answer()
	}
}

// cancels cancels the prediction of the request, once it runs.
func cancels(path string) func(t *testing.T, s *site, f *fake) {
	return func(t *testing.T, s *site, f *fake) {
		t.Helper()
		wait(t, f.started, "the prediction")
		c := s.dial(t)
		c.send(ask("POST", path+"/cancel", "", ""))
		c.want(200)
	}
}

// yields makes a run yield these items, and stay in flight when on hold.
func yields(items ...string) func(p *predict.Prediction) {
	return func(p *predict.Prediction) {
		for _, item := range items {
			p.Output([]byte(item))
		}
	}
}

var yielded = predict.Result{Status: predict.Succeeded, Yielded: true, Metrics: []byte(`{"predict_time":0.25}`)}

func goldenModes() []goldenCase {
	const put, a = "PUT", "/predictions/a"
	failing := func(f *fake) {
		f.runs = yields(`"yielded"`)
		f.result = predict.Result{Status: predict.Failed, Error: "ValueError: no", Metrics: []byte(`{"predict_time":0.1}`)}
	}
	get := func(path string) string { return ask("GET", path, "", "") }
	return []goldenCase{
		{name: "async", request: ask("POST", "/predictions", prefer("respond-async"), `{"id":"a"}`)},
		{name: "async_made_id", request: ask("POST", "/predictions", "Prefer: respond-async\r\n", "")},
		{name: "async_put", request: ask(put, a, prefer("respond-async"), `{}`)},
		{name: "async_among_others", request: ask("POST", "/predictions",
			prefer(`x="a, \"wait=0"; y`, `handling=lenient , Respond-Async;x=1, wait=0`), `{"id":"a"}`)},
		{
			name: "async_refused", request: ask("POST", "/predictions", prefer("respond-async"), `{"id":"a"}`),
			set: func(f *fake) { f.refusal = predict.ErrBusy },
		},
		{name: "prefer_unknown", request: ask("POST", "/predictions",
			prefer(`x-respond-async, "respond-async", wait, wait=-1, wait=soon`), `{"id":"a"}`)},
		{
			name: "wait_passed", request: ask("POST", "/predictions", prefer("wait=1"), `{"id":"a","input":{"s":1}}`),
			set: func(f *fake) { f.hold, f.runs = true, yields(`"one"`, `{"n":2}`) },
		},
		{name: "wait_ended", request: ask("POST", "/predictions", prefer(`wait="600"`), `{"id":"a"}`)},
		{name: "wait_failed", request: ask("POST", "/predictions", prefer("wait=600"), `{"id":"a"}`), set: failing},
		{
			name: "wait_canceled", request: ask("POST", "/predictions", prefer("wait=600"), `{"id":"a"}`), set: onHold,
			during: cancels(a),
		},
		{
			name: "wait_queue_timeout", request: ask("POST", "/predictions", prefer("wait=600"), `{"id":"a"}`),
			set: func(f *fake) { f.runErr = predict.ErrQueueTimeout },
		},

		{name: "put", request: ask(put, a, asJSON, `{"input":{"s":"x"}}`)},
		{name: "put_same_id", request: ask(put, "/predictions/a%20b", asJSON, `{"id":"a b"}`)},
		{name: "put_no_body", request: ask(put, a, "", "")},
		{name: "put_mismatch", request: ask(put, a, asJSON, `{"id":"b"}`)},
		{
			name: "put_mismatch_in_flight", request: ask(put, a, asJSON, `{"id":"b"}`),
			before: holds(ask("POST", "/predictions", asJSON, `{"id":"a"}`)),
		},
		{name: "put_bad_id", request: ask(put, "/predictions/a%2Fb", asJSON, `{}`)},
		{name: "put_long_id", request: ask(put, "/predictions/"+strings.Repeat("a", 257), asJSON, `{}`)},
		{name: "put_bad_escape", request: ask(put, "/predictions/%zz", asJSON, `{}`)},
		{name: "put_invalid_json", request: ask(put, a, asJSON, `{`)},
		{name: "put_busy", request: ask(put, a, asJSON, `{}`), set: func(f *fake) { f.refusal = predict.ErrBusy }},
		{name: "put_while_draining", request: ask(put, a, asJSON, `{}`), before: func(t *testing.T, s *site, f *fake) {
			holds(ask(put, a, asJSON, `{"input":{"s":"x"}}`))(t, s, f)
			f.refusal = &predict.NotReadyError{Reason: "The server is shutting down"}
		}},
		{
			name: "put_in_flight", request: ask(put, a, asJSON, `{"input":{"other":1}}`),
			set:    func(f *fake) { f.runs = yields("1", "2") },
			before: holds(ask(put, a, asJSON, `{"input":{"s":"x"}}`)),
		},
		{
			name: "put_in_flight_async", request: ask(put, a, prefer("respond-async"), `{}`),
			before: holds(ask("POST", "/predictions", prefer("respond-async"), `{"id":"a","input":{"s":"x"}}`)),
		},
		{name: "put_again", request: ask(put, a, asJSON, `{}`), before: done(ask(put, a, asJSON, `{"input":{"first":1}}`))},
		{
			name: "post_in_flight", request: ask("POST", "/predictions", asJSON, `{"id":"a"}`),
			before: holds(ask(put, a, asJSON, `{}`)),
		},

		{
			name: "get_processing", request: get(a), set: func(f *fake) { f.runs = yields(`"one"`) },
			before: holds(ask(put, a, asJSON, `{"input":{"s":"x"}}`)),
		},
		{name: "get_succeeded", request: get(a), before: done(ask(put, a, asJSON, `{"input":{"s":"x"}}`))},
		{name: "get_failed", request: get(a), set: failing, before: done(ask(put, a, asJSON, `{"input":{"s":"x"}}`))},
		{name: "get_head", request: ask("HEAD", a, "", ""), before: done(ask(put, a, asJSON, `{"input":{"s":"x"}}`))},
		{name: "get_unknown", request: get(a)},
		{name: "get_bad_escape", request: get("/predictions/%zz")},
		{
			name: "cancel_in_flight", request: ask("POST", a+"/cancel", "", ""),
			before: holds(ask("POST", "/predictions", asJSON, `{"id":"a"}`)),
		},
		{name: "cancel_ended", request: ask("POST", a+"/cancel", "", ""), before: done(ask(put, a, asJSON, `{}`))},
		{name: "webhook_invalid", post: `{"webhook":"ftp://x","webhook_events_filter":["completed","nope"],"output_file_prefix":"x"}`},
	}
}

func goldenStreams() []goldenCase {
	const put, a = "PUT", "/predictions/a"
	stream := ask("POST", "/predictions", asStream, `{"id":"a","input":{"n":1}}`)
	emits := func(p *predict.Prediction) {
		p.Output([]byte(`"one"`))
		p.Log("stdout", []byte("a \"line\"\xff\n"))
		p.Metric([]byte(`{"name":"tokens","value":2,"mode":"increment"}`))
		p.Log("stderr", []byte("another"))
		p.Output([]byte("{\"two\":\n[2]}"))
	}
	return []goldenCase{
		{name: "stream", request: stream, set: func(f *fake) { f.result, f.runs = yielded, emits }},
		{
			name: "stream_put", request: ask(put, a, "Accept: application/json;q=0.5, Text/Event-Stream;q=0.9\r\n", ""),
			set: func(f *fake) { f.result, f.runs = yielded, yields("1") },
		},
		{
			name:    "stream_before_async",
			request: ask("POST", "/predictions", asStream+"Prefer: respond-async\r\n", `{"id":"a"}`),
			set:     func(f *fake) { f.result, f.runs = yielded, yields("1") },
		},
		{
			name:    "stream_not_accepted",
			request: ask("POST", "/predictions", asJSON+"Accept: */*, text/event-stream;q=0.0\r\n", `{"id":"a"}`),
		},
		{name: "stream_failed", request: stream, set: func(f *fake) {
			f.runs = yields("1")
			f.result = predict.Result{Status: predict.Failed, Error: "ValueError: no", Metrics: []byte(`{"predict_time":0.1}`)}
		}},
		{
			name: "stream_canceled", request: stream, set: func(f *fake) { f.hold, f.runs = true, yields("1") },
			during: cancels(a),
		},
		{
			name: "stream_http10", request: strings.Replace(stream, "HTTP/1.1", "HTTP/1.0", 1),
			set: func(f *fake) { f.result, f.runs = yielded, emits },
		},
		{name: "stream_not_streaming", request: stream, set: func(f *fake) { f.plain = true }},
		{
			name: "stream_not_streaming_in_flight", request: ask(put, a, asStream, `{}`), set: func(f *fake) { f.plain = true },
			before: holds(ask(put, a, asJSON, `{}`)),
		},
		{name: "stream_busy", request: stream, set: func(f *fake) { f.refusal = predict.ErrBusy }},
		{name: "stream_queue_timeout", request: stream, set: func(f *fake) { f.runErr = predict.ErrQueueTimeout }},
		{
			name: "stream_joined", request: ask(put, a, asStream, `{}`),
			set:    func(f *fake) { f.result, f.runs = yielded, emits },
			before: holds(ask(put, a, asJSON, `{}`)), during: finishes,
		},
		{
			name: "stream_truncated", request: ask(put, a, asStream, `{}`),
			set:    func(f *fake) { f.history, f.runs = 2, yields("1", "2", "3") },
			before: holds(ask(put, a, asJSON, `{}`)),
		},
		{name: "stream_full", request: ask(put, a, asStream, `{}`), before: func(t *testing.T, s *site, f *fake) {
			holds(ask(put, a, asJSON, `{}`))(t, s, f)
			for range predict.MaxSubscribers {
				_, err := f.Find(predict.KindPrediction, "a").Subscribe()
				assert.NoError(t, err)
			}
		}},
	}
}

// finishes ends the one prediction that is in flight, once a client follows it.
func finishes(t *testing.T, s *site, f *fake) {
	t.Helper()
	s.untilArmed(t, 2) // the client that made it and the one that joined
	f.finish(f.Find(predict.KindPrediction, "a"))
}

func goldenTrainings() []goldenCase {
	const put, a = "PUT", "/trainings/a"
	trains := func(f *fake) { f.training = true }
	create := ask("POST", "/trainings", asJSON, `{"id":"a","input":{"n":1}}`)
	return []goldenCase{
		{name: "training", request: create, set: trains},
		{name: "training_async", request: ask("POST", "/trainings", prefer("respond-async"), `{"id":"a"}`), set: trains},
		{name: "training_put", request: ask(put, a, asJSON, `{}`), set: trains},
		{name: "training_put_mismatch", request: ask(put, a, asJSON, `{"id":"b"}`), set: trains},
		{name: "training_put_bad_id", request: ask(put, "/trainings/%0A", asJSON, `{}`), set: trains},
		{name: "training_put_in_flight", request: ask(put, a, asJSON, `{}`), set: trains, before: holds(create)},
		{name: "training_in_flight", request: create, set: trains, before: holds(create)},
		{name: "training_beside_prediction", request: create, set: trains, before: func(t *testing.T, s *site, f *fake) {
			holds(ask("POST", "/predictions", asJSON, `{"id":"a"}`))(t, s, f)
		}, during: func(t *testing.T, _ *site, f *fake) { f.finish(wait(t, f.started, "the training")) }},
		{name: "training_stream", request: ask("POST", "/trainings", asStream, `{"id":"a"}`), set: trains},
		{name: "training_cancel", request: ask("POST", a+"/cancel", "", ""), set: trains, before: holds(create)},
		{
			name: "training_cancel_unknown", request: ask("POST", a+"/cancel", "", ""), set: trains,
			before: holds(ask("POST", "/predictions", asJSON, `{"id":"a"}`)),
		},
		{
			name: "training_canceled", request: create, set: func(f *fake) { f.training, f.hold = true, true },
			during: cancels(a),
		},
		{name: "training_get", request: ask("GET", a, "", ""), set: trains, before: done(create)},
		{
			name: "training_get_unknown", request: ask("GET", a, "", ""), set: trains,
			before: done(ask("PUT", "/predictions/a", asJSON, `{}`)),
		},
		{name: "training_not_allowed", request: ask("GET", "/trainings", "", ""), set: trains},
		{name: "no_training", request: create},
		{name: "no_training_put", request: ask(put, a, asJSON, `{}`)},
		{name: "no_training_get", request: ask("GET", a, "", "")},
		{name: "no_training_cancel", request: ask("POST", a+"/cancel", "", "")},
		{name: "no_training_method", request: ask("GET", "/trainings", "", "")},
		{name: "no_training_options", request: ask("OPTIONS", a, "", "")},
		{name: "no_training_stream", request: ask("POST", "/trainings", asStream, "{}")},
	}
}

func goldenOthers() []goldenCase {
	get := func(path string) string { return ask("GET", path, "", "") }
	page := func(ctx *fasthttp.RequestCtx) { answers.Literal(ctx, fasthttp.StatusOK, `"a page"`) }
	origin := func(method, path, headers string) string {
		return ask(method, path, "Origin: https://a.example\r\n"+headers, "")
	}
	preflight := origin("OPTIONS", "/predictions",
		"Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: content-type\r\n")
	ours, everyOrigin := Options{CORSOrigins: []string{"https://b.example", "https://a.example"}},
		Options{CORSOrigins: []string{"*"}}
	other := Options{CORSOrigins: []string{"https://a.example.org"}}
	return []goldenCase{
		{name: "livez_defunct", request: get("/livez"), set: func(f *fake) { f.defunct = errors.New("no worker is left") }},
		{name: "livez", request: get("/livez"), set: func(f *fake) { f.notReady = http.ErrServerClosed }},
		{name: "readyz", request: get("/readyz")},
		{name: "readyz_head", request: ask("HEAD", "/readyz", "", "")},
		{name: "readyz_not", request: get("/readyz"), set: func(f *fake) {
			f.notReady = &predict.NotReadyError{Reason: "The server is shutting down"}
		}},
		{name: "health_unhealthy", request: get("/health-check"), set: func(f *fake) {
			f.health = health.Document{
				Status: "UNHEALTHY", Version: map[string]string{},
				ModelError: "Health check timed out after 5.0 seconds",
			}
		}},
		{name: "docs", request: get("/docs"), opt: Options{Docs: page}},
		{name: "docs_none", request: get("/docs")},
		{name: "metrics", request: get("/metrics"), opt: Options{Metrics: page}},
		{name: "metrics_none", request: get("/metrics")},
		{name: "metrics_not_allowed", request: ask("POST", "/metrics", "", ""), opt: Options{Metrics: page}},

		{name: "cors_preflight", request: preflight, opt: ours},
		{name: "cors_preflight_all", request: preflight, opt: everyOrigin},
		{name: "cors_preflight_other", request: preflight, opt: other},
		{name: "cors_preflight_off", request: preflight},
		{name: "cors", request: origin("GET", "/livez", ""), opt: ours},
		{name: "cors_all", request: origin("GET", "/livez", ""), opt: everyOrigin},
		{name: "cors_other", request: origin("GET", "/livez", ""), opt: other},
		{name: "cors_no_origin", request: get("/livez"), opt: ours},
		{name: "cors_off", request: origin("GET", "/livez", "")},
		{name: "cors_error", request: origin("GET", "/nothing", ""), opt: ours},
		{name: "cors_options", request: origin("OPTIONS", "/livez", ""), opt: ours},
		{
			name: "cors_stream", request: ask("POST", "/predictions", asStream+"Origin: https://a.example\r\n", `{"id":"a"}`),
			opt: ours,
		},
	}
}
