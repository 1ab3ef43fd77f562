package service

import (
	"bytes"

	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

// The W3C trace headers, as keys of the model's context.
const (
	traceParent = "traceparent"
	traceState  = "tracestate"
)

// contextOf returns the model's context: the client's, and the request's trace headers, so that a model can continue
// the client's trace. Entries that the client set under these names take precedence.
func contextOf(req *predict.Request) []byte {
	if req.TraceParent == "" {
		return req.Context
	}
	var has struct{ parent, state bool }
	rest := bytes.TrimSpace(req.Context)
	if len(rest) == 0 {
		rest = []byte("{}")
	}
	for key := range rawjson.Members(rest) {
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
