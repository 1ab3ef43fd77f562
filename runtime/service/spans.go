package service

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
	"pinion/runtime/slot"
	"pinion/runtime/trace"
)

// The attributes that spans of a prediction share; the names are Cog's.
const (
	attrID     = "cog.prediction.id"
	attrMode   = "cog.prediction.response_mode"
	attrStatus = "cog.prediction.status"
	attrError  = "error.type"
)

// spans are those of one traced prediction; nil: it is not traced, and the methods do nothing.
type spans struct {
	trace      *trace.Trace
	prefix     string // of their names
	prediction *trace.Span
	invoke     trace.Context
	traced     slot.Traced // of the call
	further    predict.SpanAttrs
	id         string
	submitted  time.Time
}

// newSpans begins the span of a request's prediction, and gives the request the context that webhooks carry.
func newSpans(req *predict.Request) *spans {
	t := req.Trace
	if t == nil {
		return nil
	}
	s := &spans{trace: t, prefix: "cog.prediction", invoke: t.New(), further: req.Span}
	if req.Kind == predict.KindTraining {
		s.prefix = "cog.train"
	}
	mode := [...]string{predict.Sync: "sync", predict.Async: "async", predict.Stream: "sse"}[req.Mode]
	s.prediction = t.Span(s.prefix, trace.Internal, t.Server, time.Now(), trace.Text(attrMode, mode))
	t.Prediction = s.prediction.Context.Span
	s.prediction.Attrs = append(s.prediction.Attrs, req.Span.Begin...)
	if req.ID != "" {
		s.named(req.ID)
	}
	if req.Kind == predict.KindPrediction { // as with Cog
		s.prediction.Attrs = append(s.prediction.Attrs, callers(req.Context)...)
	}
	t.Headers(s.prediction.Context, func(name, value string) {
		switch name {
		case traceParent:
			req.TraceParent = value
		case traceState:
			req.TraceState = value
		}
	})
	return s
}

// sampled names the prediction's span, if its trace is sampled; nil: there is none.
func (s *spans) sampled() *trace.Context {
	if s == nil || !s.trace.Sampled {
		return nil
	}
	return &s.prediction.Context
}

// named adds the prediction's id.
func (s *spans) named(id string) {
	if s != nil {
		s.id = predict.Clip(id)
		s.trace.SetLive(s.id, s.prediction.Context)
		s.prediction.Attrs = append(s.prediction.Attrs, trace.Text(attrID, s.id))
	}
}

// validated ends the validation that began then. Trainings have no such span, as with Cog.
func (s *spans) validated(began time.Time) {
	if s != nil && s.prefix == "cog.prediction" {
		s.trace.End(s.trace.Span("cog.prediction.validate", trace.Internal, s.prediction.Context.Span, began), time.Now())
	}
}

// refused ends the spans of a request that became no prediction.
func (s *spans) refused(err error) {
	if s == nil {
		return
	}
	if errors.Is(err, predict.ErrInFlight) { // another request has the prediction
		s.trace.Ended(s.id, s.prediction.Context)
		return
	}
	kind := map[string]string{
		reasonValidation: "validation_error", reasonCapacity: "at_capacity", reasonMemory: "at_capacity", reasonUnavailable: "not_ready",
	}[refusal(err)]
	if kind == "" {
		kind = "validation_error" // a request that the model cannot carry out
	}
	s.end(predict.Failed, kind, "", time.Now()) // the message may show an input
}

// ended ends the spans of a prediction. waited is its time in the queue.
func (s *spans) ended(id string, r *predict.Result, waited time.Duration, reason string) {
	if s == nil {
		return
	}
	now := time.Now()
	kind := ""
	switch {
	case r.Status == predict.Canceled:
		kind = "canceled"
	case r.Status == predict.Failed && reason == reasonUnavailable:
		kind = "not_ready"
	case r.Status == predict.Failed:
		kind = "prediction_failed"
	}
	parent := s.prediction.Context.Span
	if !s.submitted.IsZero() {
		if r.Elapsed == 0 {
			waited = now.Sub(s.submitted)
		}
		s.trace.End(s.trace.Span("pinion.queue", trace.Internal, parent, s.submitted), s.submitted.Add(waited))
	}
	if r.Elapsed > 0 {
		attrs := s.place([]trace.Attr{trace.Text(attrID, predict.Clip(id))})
		s.prediction.Attrs = s.place(s.prediction.Attrs)
		began, returned := now.Add(-r.Elapsed), now
		times := s.traced.Times
		if !times.Began.IsZero() { // what the worker took, within what the front saw
			began, returned = times.Began, times.Began.Add(r.Elapsed)
		}
		execute := s.trace.Span(s.prefix+".execute", trace.Internal, parent, earlier(s.submitted.Add(waited), began), attrs...)
		invoke := s.trace.At(s.invoke, s.prefix+".invoke", trace.Internal, execute.Context.Span, began, attrs...)
		execute.Worker, invoke.Worker = true, true
		if !times.Began.IsZero() {
			prepare := s.trace.Span(s.prefix+".prepare_input", trace.Internal, invoke.Context.Span, began)
			prepare.Worker = true
			s.trace.End(prepare, began.Add(times.Prepared))
		}
		if s.traced.Batch.Valid() {
			invoke.Links = []trace.Context{s.traced.Batch}
		}
		if kind != "" {
			invoke.Fail(returned, kind, r.Error)
		}
		s.trace.End(invoke, returned)
		s.trace.End(execute, now)
	}
	s.end(r.Status, kind, r.Error, now)
}

// described adds what the request's protocol says of the end, of a sampled trace.
func (s *spans) described(p *predict.Prediction, r *predict.Result) {
	if s == nil || s.further.End == nil || !s.trace.Sampled {
		return
	}
	output := r.Output
	if output == nil {
		if rec := p.Record(); rec.Open {
			output = append(bytes.Clone(rec.Output), ']')
		}
	}
	s.prediction.Attrs = append(s.prediction.Attrs, s.further.End(r.Status, output, r.Metrics)...)
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// place adds where the model ran.
func (s *spans) place(to []trace.Attr) []trace.Attr {
	if t := &s.traced; t.Place != (slot.Place{}) {
		to = t.Place.Attrs(to)
		if t.BatchSize > 0 {
			to = append(to, trace.Int("pinion.batch.size", int64(t.BatchSize)))
		}
	}
	return to
}

// end ends the prediction's span.
func (s *spans) end(status predict.Status, kind, message string, at time.Time) {
	s.prediction.Attrs = append(s.prediction.Attrs, trace.Text(attrStatus, status.String()))
	if kind != "" {
		s.prediction.Attrs = append(s.prediction.Attrs, trace.Text(attrError, kind))
		s.prediction.Fail(at, kind, message)
	}
	s.trace.End(s.prediction, at)
	s.trace.Ended(s.id, s.prediction.Context)
}

// context is what the model gets: the client's, and the context of the span in which it runs.
func (j *job) context() []byte {
	req := &j.p.Request
	if j.spans == nil {
		return contextOf(req)
	}
	j.spans.submitted = time.Now()
	in := j.spans.invoke
	return contextOf(&predict.Request{Context: req.Context, TraceParent: in.Parent(), TraceState: in.State})
}

// Bounds of the attributes that a client's context adds, as Cog has them. They keep the sum below Cog's bound of 4 KiB.
const (
	maxCallers     = 16
	maxCallerName  = 64
	maxCallerValue = 128
)

// callers are the entries of a client's context that begin with "trace.", as attributes: the first by name.
func callers(context []byte) (attrs []trace.Attr) {
	if len(context) == 0 {
		return nil
	}
	for r := rawjson.Object(context); ; {
		key, value, ok := r.Next()
		if !ok {
			break
		}
		name, is := strings.CutPrefix(rawjson.KeyText(key), "trace.")
		if is && name != "" && len(name) <= maxCallerName && !strings.ContainsFunc(name, notInCaller) {
			attrs = append(attrs, trace.Text("caller."+name, cutText(rawjson.Text(value), maxCallerValue)))
		}
	}
	return boundCallers(attrs)
}

// boundCallers sorts and bounds the attributes. The last one of a name counts.
func boundCallers(attrs []trace.Attr) []trace.Attr {
	slices.SortStableFunc(attrs, func(a, b trace.Attr) int { return strings.Compare(a.Key, b.Key) })
	kept := attrs[:0]
	for i, a := range attrs {
		if i+1 == len(attrs) || attrs[i+1].Key != a.Key {
			kept = append(kept, a)
		}
	}
	return kept[:min(len(kept), maxCallers)]
}

func notInCaller(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '.' && r != '_' && r != '-'
}

// cutText is at most that many bytes of a text, without a part of a character.
func cutText(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}
