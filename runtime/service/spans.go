package service

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"pinion/runtime/logtext"
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

// names are the names of the spans of one kind of prediction.
type names struct{ whole, validate, execute, invoke, prepare string }

var (
	predictionNames = names{
		"cog.prediction", "cog.prediction.validate", "cog.prediction.execute", "cog.prediction.invoke",
		"cog.prediction.prepare_input",
	}
	// trainingNames are the names that Cog gives to the spans of trainings.
	trainingNames = names{
		whole: "cog.train", execute: "cog.train.execute", invoke: "cog.train.invoke",
		prepare: "cog.train.prepare_input",
	}
)

// spans are the spans of one traced prediction; nil means it is not traced, and the methods do nothing. They are filled
// in and sent at its end, if its trace is sampled: many of them at once cost less.
type spans struct {
	trace      *trace.Trace
	names      *names
	prediction trace.Context
	invoke     trace.Context
	traced     slot.Traced        // of the call
	further    *predict.SpanAttrs // nil means nothing
	mode       string
	model      string // "" means the server has one
	id         string
	callers    trace.Attrs
	last       trace.Attrs // by the request's protocol, at the end
	arrived    time.Time
	valid      time.Time // the end of the validation; zero means there was none
	submitted  time.Time
}

// newSpans begins the span of a request's prediction, and gives the request the context that webhooks carry.
func newSpans(req *predict.Request, model string, now time.Time) *spans {
	t := req.Trace
	if t == nil {
		return nil
	}
	s := &spans{
		trace: t, names: &predictionNames, prediction: t.New(), invoke: t.New(), further: req.Span, model: model,
		arrived: now,
	}
	if req.Kind == predict.KindTraining {
		s.names = &trainingNames
	} else if t.Sampled { // as with Cog
		s.callers = callers(req.Context)
	}
	s.mode = [...]string{predict.Sync: "sync", predict.Async: "async", predict.Stream: "sse"}[req.Mode]
	t.Prediction = s.prediction.Span
	req.TraceParent, req.TraceState = t.Passed(s.prediction)
	if req.ID != "" {
		s.named(req.ID)
	}
	return s
}

// sampled names the prediction's span, if its trace is sampled, or nil.
func (s *spans) sampled() *trace.Context {
	if s == nil || !s.trace.Sampled {
		return nil
	}
	return &s.prediction
}

func (s *spans) named(id string) {
	if s != nil {
		s.id = logtext.Clip(id)
		s.trace.SetLive(s.model, s.id, &s.prediction)
	}
}

// validated ends the validation. Trainings have no such span, as with Cog.
func (s *spans) validated() {
	if s != nil && s.names.validate != "" {
		s.valid = time.Now()
	}
}

func (s *spans) refused(err error) {
	if s == nil {
		return
	}
	refusal := predict.RefusalOf(err)
	if refusal.Kind == predict.RefusedID { // another request has the prediction
		s.trace.Ended(s.model, s.id, &s.prediction)
		return
	}
	kind := cmp.Or(map[string]string{
		predict.ReasonCapacity: "at_capacity", predict.ReasonMemory: "at_capacity", predict.ReasonUnavailable: "not_ready",
	}[refusal.Reason()], "validation_error") // also of a request that the model cannot carry out
	if s.trace.Sampled {
		g := s.trace.Group()
		s.waited(g, time.Time{})
		s.end(g, s.identify(g), predict.Failed, kind, "", trace.Exception{Type: kind}, time.Now()) // the message may show an input
	}
	s.trace.Ended(s.model, s.id, &s.prediction)
}

// ended ends the spans of a prediction. waited is its time in the queue.
func (s *spans) ended(p *predict.Prediction, r *predict.Result, waited time.Duration, reason string, now time.Time) {
	if s == nil {
		return
	}
	if s.trace.Sampled {
		s.send(p, r, waited, reason, now)
	}
	s.trace.Ended(s.model, s.id, &s.prediction)
}

// waited adds what came before the model; until is when a worker began; zero means it was not submitted.
func (s *spans) waited(g *trace.Group, until time.Time) {
	parent := s.prediction.Span
	if !s.valid.IsZero() {
		g.Add(s.trace.New(), s.names.validate, parent, s.arrived, s.valid, nil)
	}
	if !until.IsZero() {
		g.Add(s.trace.New(), "pinion.queue", parent, s.submitted, until, nil)
	}
}

func (s *spans) send(p *predict.Prediction, r *predict.Result, waited time.Duration, reason string, now time.Time) {
	kind := ""
	switch {
	case r.Status == predict.Canceled:
		kind = "canceled"
	case r.Status == predict.Failed && reason == predict.ReasonUnavailable:
		kind = "not_ready"
	case r.Status == predict.Failed:
		kind = "prediction_failed"
	}
	g := s.trace.Group()
	switch {
	case s.submitted.IsZero():
		s.waited(g, time.Time{})
	case r.Elapsed == 0:
		s.waited(g, now)
	default:
		s.waited(g, s.submitted.Add(waited))
	}
	attrs, raised := s.identify(g), trace.Exception{Type: kind, Message: r.Error}
	if reason == predict.ReasonModel && r.Status == predict.Failed {
		raised = exceptionOf(r.Error, slices.Concat(p.Record().Logs, r.Logs)) // the first were sent while it ran
	}
	if r.Elapsed > 0 {
		if attrs = append(attrs, s.traced.Place...); s.traced.BatchSize > 0 {
			attrs = attrs.Int("pinion.batch.size", int64(s.traced.BatchSize))
		}
		if invoke := s.ran(g, attrs, r, waited, now); kind != "" {
			invoke.Raise(invoke.End, r.Error, raised)
		}
	}
	s.end(g, attrs, r.Status, kind, r.Error, raised, now)
}

// ran adds what a worker did, and returns the span of the model.
func (s *spans) ran(g *trace.Group, attrs trace.Attrs, r *predict.Result, waited time.Duration,
	now time.Time,
) *trace.Span {
	began, returned := now.Add(-r.Elapsed), now
	times := s.traced.Times
	if !times.Began.IsZero() { // what the worker took, within what the front saw
		began, returned = times.Began, times.Began.Add(r.Elapsed)
	}
	execute := s.trace.New()
	g.Add(execute, s.names.execute, s.prediction.Span, earlier(s.submitted.Add(waited), began), now, attrs).Worker = true
	if !times.Began.IsZero() {
		g.Add(s.trace.New(), s.names.prepare, s.invoke.Span, began, began.Add(times.Prepared), nil).Worker = true
	}
	invoke := g.Add(s.invoke, s.names.invoke, execute.Span, began, returned, attrs)
	invoke.Worker = true
	if s.traced.Batch.Valid() {
		invoke.Links = []trace.Context{s.traced.Batch}
	}
	return invoke
}

// described adds what the request's protocol says of the end, of a sampled trace.
func (s *spans) described(p *predict.Prediction, r *predict.Result) {
	if s == nil || s.further == nil || s.further.End == nil || !s.trace.Sampled {
		return
	}
	output := r.Output
	if output == nil {
		if rec := p.Record(); rec.Open {
			output = append(bytes.Clone(rec.Output), ']')
		}
	}
	s.last = s.further.End(r.Status, output, r.Metrics)
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// identify returns the attributes that name the prediction and its model, in the memory of the group.
func (s *spans) identify(g *trace.Group) trace.Attrs {
	attrs := g.Attrs()
	if s.id != "" {
		attrs = attrs.Text(attrID, s.id)
	}
	if s.model != "" {
		attrs = attrs.Text(trace.AttrModel, s.model)
	}
	return attrs
}

// end adds the prediction's span and sends all. attrs are those that it shares with others, which are left as they are.
func (s *spans) end(g *trace.Group, attrs trace.Attrs, status predict.Status, kind, message string, e trace.Exception,
	at time.Time,
) {
	attrs = attrs.Text(attrMode, s.mode).Text(attrStatus, status.String())
	if s.further != nil {
		attrs = append(attrs, s.further.Begin...)
	}
	attrs = append(append(attrs, s.callers...), s.last...)
	if kind != "" {
		attrs = attrs.Text(attrError, kind)
	}
	span := g.Add(s.prediction, s.names.whole, s.trace.Server, s.arrived, at, attrs)
	if kind != "" {
		span.Raise(at, message, e)
	}
	g.Send()
}

// context returns what the model gets: the client's, and the context of the span in which it runs.
func (x *execution) context() []byte {
	req := &x.p.Request
	if x.spans == nil {
		return contextOf(req.Context, req.Propagation)
	}
	in, p := x.spans.invoke, req.Propagation
	p.TraceParent, p.TraceState = "", in.State
	if len(req.Context) == 0 && !hasModelHeaders(&p) {
		return append(in.AppendParent(append(make([]byte, 0, 80), `{"`+trace.ParentHeader+`":"`...)), `"}`...)
	}
	p.TraceParent = in.Parent()
	return contextOf(req.Context, p)
}

// Bounds of the attributes that a client's context adds, as Cog has them. They keep the sum below Cog's bound of 4 KiB.
const (
	maxCallers     = 16
	maxCallerName  = 64
	maxCallerValue = 128
)

// callers returns the entries of a client's context that begin with "trace.", as attributes: the first by name, and of
// one name the last.
func callers(context []byte) (attrs trace.Attrs) {
	if len(context) == 0 {
		return nil
	}
	found := map[string]string{}
	for key, value := range rawjson.Members(context) {
		name, is := strings.CutPrefix(rawjson.KeyText(key), "trace.")
		if is && name != "" && len(name) <= maxCallerName && !strings.ContainsFunc(name, notInCaller) {
			found[name] = logtext.Head(rawjson.Text(value), maxCallerValue)
		}
	}
	names := slices.Sorted(maps.Keys(found))
	for _, name := range names[:min(len(names), maxCallers)] {
		attrs = attrs.Text("caller."+name, found[name])
	}
	return attrs
}

func notInCaller(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '.' && r != '_' && r != '-'
}
