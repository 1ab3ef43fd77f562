package trace

import "time"

// Group holds spans of a trace that end together. They are encoded one after another, in memory that is reused.
type Group struct {
	trace         *Trace
	span          Span // the last one, until it is encoded
	last          bool // span is in use
	full          bool // the spans will be dropped, so none is encoded
	n             int
	front, worker []byte // encoded spans of the front and of a worker
	attrs         Attrs
}

// maxKept is the largest size of a group's memory that is reused, in bytes.
const maxKept = 64 << 10

// Group returns an empty group, for a sampled trace. Send takes it back.
func (t *Trace) Group() *Group {
	g, _ := t.tracer.groups.Get().(*Group)
	if g == nil {
		g = &Group{front: make([]byte, 0, 1024), worker: make([]byte, 0, 1024), attrs: make(Attrs, 0, 512)}
	}
	g.trace, g.full = t, t.tracer.Full()
	return g
}

// Add adds an ended span below parent; the zero parent stands for the client's span. The caller may change the span
// until the next call of a method.
func (g *Group) Add(c Context, name string, parent SpanID, start, end time.Time, attrs Attrs) *Span {
	g.encode()
	g.last = true
	s := &g.span
	s.Name, s.Context, s.Parent, s.Start, s.Attrs = name, c, parent, start, attrs
	s.Kind, s.Remote, s.Worker = Internal, false, false
	if parent == (SpanID{}) {
		s.Parent, s.Remote = g.trace.Parent.Span, g.trace.Parent.Valid()
	}
	s.Ended(end)
	return s
}

func (g *Group) Attrs() Attrs { return g.attrs[:0] }

func (g *Group) encode() {
	if !g.last {
		return
	}
	g.put(&g.span)
	if g.last = false; g.span.Failed || g.span.Links != nil { // Add sets the rest
		g.span = Span{}
	}
}

func (g *Group) put(s *Span) {
	if g.n == g.trace.tracer.Most {
		g.export()
	}
	g.n++
	switch {
	case g.full:
	case s.Worker:
		g.worker = s.appendTo(g.worker)
	default:
		g.front = s.appendTo(g.front)
	}
}

func (g *Group) export() {
	g.trace.tracer.Export(g.front, g.worker, g.n)
	g.front, g.worker, g.n = g.front[:0], g.worker[:0], 0
}

func (g *Group) Send() {
	g.encode()
	g.export()
	t := g.trace.tracer
	if g.trace = nil; cap(g.front)+cap(g.worker) <= maxKept {
		t.groups.Put(g)
	}
}
