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
	trace   *trace.Trace
	names   *names
	traced  slot.Traced // of the call, and the prediction's span
	invoke  trace.SpanID
	further *predict.SpanAttrs // nil means nothing
	mode    string
	model   string // "" means the server has one
	id      string
	callers trace.Attrs
	last    trace.Attrs // by the request's protocol, at the end
	// Times are as in trace.Span. valid is the end of the validation; zero means there was none.
	arrived, valid, submitted int64
	context                   [80]byte // memory for what the model gets
}

// newSpans begins the span of a request's prediction.
func newSpans(req *predict.Request, model string, now time.Time) *spans {
	t := req.Trace
	if t == nil {
		return nil
	}
	s := &spans{
		trace: t, names: &predictionNames, traced: slot.Traced{Span: t.New()}, invoke: t.New().Span, further: req.Span,
		model: model, arrived: now.UnixNano(),
	}
	if req.Kind == predict.KindTraining {
		s.names = &trainingNames
	} else if t.Sampled { // as with Cog
		s.callers = callers(req.Context)
	}
	s.mode = [...]string{predict.Sync: "sync", predict.Async: "async", predict.Stream: "sse"}[req.Mode]
	t.Prediction = s.traced.Span.Span
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
	return &s.traced.Span
}

func (s *spans) named(id string) {
	if s != nil {
		s.id = logtext.Clip(id)
		s.trace.SetLive(s.model, s.id, &s.traced.Span)
	}
}

// validated ends the validation. Trainings have no such span, as with Cog.
func (s *spans) validated() {
	if s != nil && s.names.validate != "" {
		s.valid = time.Now().UnixNano()
	}
}

func (s *spans) refused(err error) {
	if s == nil {
		return
	}
	refusal := predict.RefusalOf(err)
	if refusal.Kind == predict.RefusedID { // another request has the prediction
		s.trace.Ended(s.model, s.id, &s.traced.Span)
		return
	}
	kind := cmp.Or(map[string]string{
		predict.ReasonCapacity: "at_capacity", predict.ReasonMemory: "at_capacity", predict.ReasonUnavailable: "not_ready",
	}[refusal.Reason()], "validation_error") // also of a request that the model cannot carry out
	if s.trace.Sampled {
		g := s.trace.Group()
		s.waited(g, 0)
		s.end(g, s.identify(g), predict.Failed, kind, "", trace.Exception{Type: kind}, time.Now().UnixNano()) // the message may show an input
	}
	s.trace.Ended(s.model, s.id, &s.traced.Span)
}

// ended ends the spans of a prediction. waited is its time in the queue.
func (s *spans) ended(p *predict.Prediction, r *predict.Result, waited time.Duration, reason string, now time.Time) {
	if s == nil {
		return
	}
	if s.trace.Sampled {
		s.send(p, r, waited, reason, now)
	}
	s.trace.Ended(s.model, s.id, &s.traced.Span)
}

// waited adds what came before the model; until is when a worker began; zero means it was not submitted.
func (s *spans) waited(g *trace.Group, until int64) {
	span := trace.Span{
		Context: s.trace.New(), Name: s.names.validate, Parent: s.traced.Span.Span, Start: s.arrived,
		End: s.valid,
	}
	if s.valid != 0 {
		g.Add(&span)
	}
	if until != 0 {
		span.Context, span.Name, span.Start, span.End = s.trace.New(), "pinion.queue", s.submitted, until
		g.Add(&span)
	}
}

func (s *spans) send(p *predict.Prediction, r *predict.Result, waited time.Duration, reason string, now time.Time) {
	kind := ""
	switch {
	case r.Status == predict.Canceled:
		kind = "canceled"
	case r.Status == predict.Failed && reason == predict.ReasonUnavailable:
		kind = "not_ready"
	case r.Status == predict.Failed && reason == predict.ReasonInput:
		kind = "validation_error"
	case r.Status == predict.Failed:
		kind = "prediction_failed"
	}
	g, ended, until := s.trace.Group(), now.UnixNano(), s.submitted
	switch {
	case until == 0:
	case r.Elapsed == 0:
		until = ended
	default:
		until += int64(waited)
	}
	s.waited(g, until)
	attrs, raised := s.identify(g), trace.Exception{Type: kind, Message: r.Error}
	if reason == predict.ReasonModel && r.Status == predict.Failed {
		raised = exceptionOf(r.Error, slices.Concat(p.Record().Logs, r.Logs)) // the first were sent while it ran
	}
	if r.Elapsed > 0 {
		if attrs = append(attrs, s.traced.Place...); s.traced.BatchSize > 0 {
			attrs = attrs.Int("pinion.batch.size", int64(s.traced.BatchSize))
		}
		s.ran(g, attrs, r, until, ended, raised)
	}
	s.end(g, attrs, r.Status, kind, r.Error, raised, ended)
}

// ran adds what a worker did, after it had waited until then.
func (s *spans) ran(g *trace.Group, attrs trace.Attrs, r *predict.Result, until int64, ended int64, e trace.Exception) {
	began, returned := ended-int64(r.Elapsed), ended
	times := s.traced.Times
	if times.Began != 0 { // what the worker took, within what the front saw
		began, returned = times.Began, times.Began+int64(r.Elapsed)
	}
	execute := s.trace.New()
	span := trace.Span{
		Worker: true, Context: execute, Name: s.names.execute, Parent: s.traced.Span.Span, Start: min(until, began),
		End:   ended,
		Attrs: attrs,
	}
	g.Add(&span)
	if times.Began != 0 {
		span.Context, span.Name, span.Parent, span.Attrs = s.trace.New(), s.names.prepare, s.invoke, nil
		span.Start, span.End = began, began+int64(times.Prepared)
		g.Add(&span)
	}
	for _, part := range s.traced.Ranks {
		own := trace.Span{
			Worker: true, Context: s.trace.New(), Name: "pinion.rank", Parent: s.invoke, End: part.Ended.UnixNano(),
			Start: part.Ended.Add(-part.Took).UnixNano(), Attrs: trace.Attrs{}.Int("pinion.rank", int64(part.Rank)),
		}
		if part.Failed {
			own.Fail(part.Ended, "prediction_failed", "the rank has failed")
		}
		g.Add(&own)
	}
	span.Context.Span, span.Name, span.Parent, span.Attrs = s.invoke, s.names.invoke, execute.Span, attrs
	if span.Start, span.End = began, returned; s.traced.Batch != nil {
		span.Links = []trace.Context{*s.traced.Batch}
	}
	if e.Type != "" {
		span.Raise(returned, r.Error, e)
	}
	g.Add(&span)
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
	at int64,
) {
	attrs = attrs.Word(attrMode, s.mode).Word(attrStatus, status.String())
	if s.further != nil {
		attrs = append(attrs, s.further.Begin...)
	}
	attrs = append(append(attrs, s.callers...), s.last...)
	if kind != "" {
		attrs = attrs.Text(attrError, kind)
	}
	span := trace.Span{
		Context: s.traced.Span, Name: s.names.whole, Parent: s.trace.Server, Start: s.arrived, End: at, Attrs: attrs,
	}
	if kind != "" {
		span.Raise(at, message, e)
	}
	g.Add(&span)
	g.Send()
}

// context returns what the model gets: the client's, and the context of the span in which it runs.
func (x *execution) context() []byte {
	req := &x.p.Request
	if x.spans == nil {
		return contextOf(req.Context, req.Propagation)
	}
	in, p := x.spans.traced.Span, req.Propagation
	in.Span, p.TraceParent, p.TraceState = x.spans.invoke, "", in.State
	if len(req.Context) == 0 && !hasModelHeaders(&p) {
		return append(in.AppendParent(append(x.spans.context[:0], `{"`+trace.ParentHeader+`":"`...)), `"}`...)
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
