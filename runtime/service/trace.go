package service

import (
	"bytes"

	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

// The W3C trace headers, as the model finds them in its context.
const (
	traceParent = "traceparent"
	traceState  = "tracestate"
)

// contextOf is the context that the model gets: the client's, and its request's trace headers, so that a model can
// make its work part of the client's trace. What the client itself has put there under these names counts.
func contextOf(req *predict.Request) []byte {
	if req.TraceParent == "" {
		return req.Context
	}
	var has struct{ parent, state bool }
	rest := bytes.TrimSpace(req.Context)
	if len(rest) == 0 {
		rest = []byte("{}")
	}
	for r := rawjson.Object(rest); ; {
		key, _, ok := r.Next()
		if !ok {
			break
		}
		has.parent = has.parent || rawjson.KeyIs(key, traceParent)
		has.state = has.state || rawjson.KeyIs(key, traceState)
	}
	if has.parent {
		return req.Context // a state belongs to a parent
	}
	out := append(make([]byte, 0, len(rest)+len(req.TraceParent)+len(req.TraceState)+40), `{"`+traceParent+`":`...)
	out = rawjson.AppendQuoted(out, req.TraceParent)
	if req.TraceState != "" && !has.state {
		out = append(out, `,"`+traceState+`":`...)
		out = rawjson.AppendQuoted(out, req.TraceState)
	}
	if rest = bytes.TrimSpace(rest[1:]); rest[0] != '}' {
		out = append(out, ',')
	}
	return append(out, rest...)
}
