package service

import (
	"bytes"

	"pinion/runtime/rawjson"
	"pinion/runtime/trace"
)

// contextOf returns the model's context: the client's, and the headers that the model gets, so that it can continue the
// client's trace. Entries that the client set under these names take precedence.
func contextOf(context []byte, p trace.Propagation) []byte {
	if !hasModelHeaders(&p) {
		return context
	}
	rest := bytes.TrimSpace(context)
	if len(rest) == 0 {
		rest = []byte("{}")
	}
	for key := range rawjson.Members(rest) {
		for i, value := range p.Values() {
			if rawjson.KeyIs(key, trace.HeaderOf(i).Name) {
				*value = ""
			}
		}
	}
	if p.TraceParent == "" {
		p.TraceState = "" // a state belongs to a parent
	}
	out := append(make([]byte, 0, len(rest)+len(p.TraceParent)+len(p.TraceState)+40), '{')
	for i, value := range p.Values() {
		if h := trace.HeaderOf(i); h.Model && *value != "" {
			out = append(rawjson.AppendQuoted(out, h.Name), ':')
			out = append(rawjson.AppendQuoted(out, *value), ',')
		}
	}
	if len(out) == 1 {
		return context
	}
	if rest = bytes.TrimSpace(rest[1:]); rest[0] == '}' {
		out = out[:len(out)-1] // the comma
	}
	return append(out, rest...)
}

// hasModelHeaders reports whether the request had headers that the model gets.
func hasModelHeaders(p *trace.Propagation) bool {
	for i, value := range p.Values() {
		if h := trace.HeaderOf(i); h.Model && *value != "" {
			return true
		}
	}
	return false
}
