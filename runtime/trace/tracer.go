package trace

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// Tracer begins traces. Its fields are set before use.
type Tracer struct {
	// Sample decides whether a trace is sampled if no client's context says so; parent is the client's context, or zero.
	Sample func(id ID, parent Context) bool
	// Export receives ended spans of sampled traces, as fields of OTLP's ScopeSpans: those of the front, those that stand
	// for a worker, and their number, at most Most. It must not block, or keep the memory. If Full reports that it would
	// drop them, it receives only their number.
	Export func(front, worker []byte, n int)
	Full   func() bool
	Most   int
	// Ignore means that contexts of clients are not read, and none are passed on.
	Ignore bool
	// Forms are how contexts of clients are read and passed on. If a request has several, the last one counts, as with
	// OpenTelemetry's propagators. nil means W3C's alone.
	Forms []Form
	// Header is another header that carries the context, in Jaeger's form or W3C's, or "".
	Header string
	Jaeger bool
	// Files means that downloads and uploads carry the context too.
	Files bool

	live   live
	groups sync.Pool // of *Group
}

// read finds the context of a request in its headers. peek returns "" where there is none.
func (t *Tracer) read(peek func(name string) string) Context {
	if t == nil || t.Ignore {
		return Context{}
	}
	for i := len(t.Forms) - 1; i >= 0; i-- {
		if c, ok := t.Forms[i].read(peek); ok {
			return c
		}
	}
	if t.Forms == nil {
		if c, ok := W3C.read(peek); ok {
			return c
		}
	}
	var c Context
	switch {
	case t.Header == "":
	case t.Jaeger:
		c, _ = ParseJaeger(peek(t.Header))
	default:
		c, _ = Parse(peek(t.Header), "")
	}
	return c
}

// Begin starts the trace of a request whose headers peek returns. It returns nil if the client sent no context and the
// request is not sampled.
func (t *Tracer) Begin(peek func(name string) string) *Trace { return t.Continue(t.read(peek)) }

// Continue is Begin for a client's context that was read already; zero if it sent none.
func (t *Tracer) Continue(parent Context) *Trace {
	if t == nil {
		return nil
	}
	id := parent.Trace
	if !parent.Valid() {
		id = newID()
	}
	sampled := t.Sample(id, parent)
	if !sampled && !parent.Valid() {
		return nil
	}
	return t.newTrace(id, parent, sampled)
}

// Root starts a trace that belongs to no client's request. Unlike Begin it always returns one.
func (t *Tracer) Root() *Trace {
	if t == nil {
		return nil
	}
	id := newID()
	return t.newTrace(id, Context{}, t.Sample(id, Context{}))
}

// Linked starts a trace that is sampled if one of these contexts is. It returns nil without contexts.
func (t *Tracer) Linked(to []Context) *Trace {
	if t == nil || len(to) == 0 {
		return nil
	}
	sampled := false
	for _, c := range to {
		sampled = sampled || c.Sampled
	}
	return t.newTrace(newID(), Context{}, sampled)
}

// At starts the trace of a context that a worker made, which says whether it is sampled. It returns nil if traces are
// off.
func (t *Tracer) At(c Context) *Trace {
	if t == nil {
		return nil
	}
	return t.newTrace(c.Trace, Context{}, c.Sampled)
}

func (t *Tracer) newTrace(id ID, parent Context, sampled bool) *Trace {
	of := &Trace{tracer: t, ID: id, Parent: parent, Sampled: sampled}
	of.ids.last.Store(rand.Uint64())
	return of
}

// Trace is the trace of one request, setup or batch. Its fields do not change once it is shared.
type Trace struct {
	tracer  *Tracer
	ids     spanIDs // safe for concurrent use
	ID      ID
	Parent  Context // the client's, or zero
	Sampled bool
	// Server is the request's span, Prediction that of the prediction; either may be zero.
	Server, Prediction SpanID
}

// Another returns the same trace for another prediction of the request. For a nil Trace it returns nil.
func (t *Trace) Another() *Trace {
	if t == nil {
		return nil
	}
	of := t.tracer.newTrace(t.ID, t.Parent, t.Sampled)
	of.Server, of.Prediction = t.Server, t.Prediction
	return of
}

func (t *Trace) Request() Context {
	return Context{Trace: t.ID, Span: t.Server, Sampled: t.Sampled, State: t.Parent.State}
}

// Own names the span of the prediction.
func (t *Trace) Own() Context {
	return Context{Trace: t.ID, Span: t.Prediction, Sampled: t.Sampled, State: t.Parent.State}
}

func (t *Trace) New() Context {
	if t == nil {
		return Context{}
	}
	return Context{Trace: t.ID, Span: t.ids.next(), Sampled: t.Sampled, State: t.Parent.State}
}

// Span starts a span below parent; the zero parent stands for the client's span.
func (t *Trace) Span(name string, kind Kind, parent SpanID, start time.Time, attrs Attrs) *Span {
	return t.At(t.New(), name, kind, parent, start, attrs)
}

// At is Span for a span that has a context already.
func (t *Trace) At(c Context, name string, kind Kind, parent SpanID, start time.Time, attrs Attrs) *Span {
	return &Span{Name: name, Kind: kind, Context: c, Parent: parent, Start: start.UnixNano(), Attrs: attrs}
}

// Passed returns the W3C headers of a context, for callers that keep them as text, or "" if none are passed on.
func (t *Trace) Passed(c Context) (parent, state string) {
	if t == nil || t.tracer.Ignore || !c.Valid() {
		return "", ""
	}
	return c.Parent(), c.State
}

// End ends a span and sends it, if the trace is sampled.
func (t *Trace) End(s *Span, at time.Time) {
	if s.End = at.UnixNano(); t.Sampled {
		g := t.Group()
		g.Add(s)
		g.Send()
	}
}

// Files reports whether downloads and uploads carry the context.
func (t *Trace) Files() bool { return t != nil && t.tracer.Files && !t.tracer.Ignore }

// Headers calls set with each header that carries a context to another program.
func (t *Trace) Headers(c Context, set func(name, value string)) {
	if t == nil || t.tracer.Ignore || !c.Valid() {
		return
	}
	for _, form := range t.tracer.Forms {
		form.write(c, set)
	}
	if t.tracer.Forms == nil {
		W3C.write(c, set)
	}
	switch {
	case t.tracer.Header == "":
	case t.tracer.Jaeger:
		set(t.tracer.Header, c.Jaeger())
	default:
		set(t.tracer.Header, c.Parent())
	}
}

type contextKey struct{}

func (t *Trace) In(ctx context.Context) context.Context {
	if t == nil {
		return ctx
	}
	return context.WithValue(ctx, contextKey{}, t)
}

func Of(ctx context.Context) *Trace {
	t, _ := ctx.Value(contextKey{}).(*Trace)
	return t
}
