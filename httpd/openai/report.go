package openai

import (
	"cmp"
	"time"

	"github.com/valyala/fasthttp"

	"pinion/httpd/protocol"
	"pinion/runtime/metrics"
)

// report tells how the request went. r is its stream, or nil, and tokens is what the model recorded for it; 0 means
// nothing. A request that has no function is not one of a model.
func (q *request) report(status int, r *renderer, tokens int64) {
	if r == nil {
		q.reportStream(status, 0, time.Time{}, tokens)
		return
	}
	q.reportStream(status, r.items, r.first, tokens)
}

// reportStream is report for a stream of items, the first of which came at first.
func (q *request) reportStream(status int, items int64, first time.Time, tokens int64) {
	if q.observe == nil || q.function == nil || q.Request == nil {
		return
	}
	now := time.Now()
	g := metrics.Generation{
		Operation: q.Endpoint.Operation(), Model: q.model.Name, Status: status,
		Took: now.Sub(q.began),
	}
	if items > 0 && status == fasthttp.StatusOK {
		g.FirstToken = first.Sub(q.began)
		if tokens = cmp.Or(tokens, items); tokens > 1 {
			g.PerToken = now.Sub(first) / time.Duration(tokens-1)
		}
	}
	q.observe(g)
}

// errorOf is ErrorOf, with the prompt that is at fault where there are several.
func (q *request) errorOf(err *protocol.Error) *Error {
	e := ErrorOf(err)
	if q.strange != "" && err.Kind == protocol.Failed && !err.Canceled {
		e = Unsupported(q.strange, "the model's function declares no content but text, and failed with it: "+err.Message)
	}
	if prompts := len(q.Inputs) / q.perPrompt; err.Row >= 0 && prompts > 1 {
		e.Message = Indexed(q.Endpoint.promptName(), err.Row/q.perPrompt) + ": " + e.Message
	}
	return e
}
