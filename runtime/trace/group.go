package trace

// Group holds spans of a trace that end together. They are encoded one after another, in memory that is reused.
type Group struct {
	trace         *Trace
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

// Add adds a span that has ended, which is not before its start. Without a parent it is below the client's span.
func (g *Group) Add(s *Span) {
	if g.n == g.trace.tracer.Most {
		g.export()
	}
	if g.n++; g.full {
		return
	}
	if s.Parent == (SpanID{}) {
		s.Parent, s.Remote = g.trace.Parent.Span, g.trace.Parent.Valid()
	}
	s.End = max(s.Start, s.End)
	if s.Worker {
		g.worker = s.appendTo(g.worker)
	} else {
		g.front = s.appendTo(g.front)
	}
}

func (g *Group) Attrs() Attrs { return g.attrs[:0] }

func (g *Group) export() {
	g.trace.tracer.Export(g.front, g.worker, g.n)
	g.front, g.worker, g.n = g.front[:0], g.worker[:0], 0
}

func (g *Group) Send() {
	g.export()
	t := g.trace.tracer
	if g.trace = nil; cap(g.front)+cap(g.worker) <= maxKept {
		t.groups.Put(g)
	}
}
