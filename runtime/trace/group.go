package trace

import "time"

// Group is memory for the spans and attributes of a trace that end together. Send takes it back.
type Group struct {
	trace *Trace
	spans [8]Span
	ended [8]*Span
	n     int
	attrs [24]Attr
}

// Group returns an empty group, for a sampled trace.
func (t *Trace) Group() *Group {
	g, _ := t.tracer.groups.Get().(*Group)
	if g == nil {
		g = &Group{}
	}
	g.trace = t
	return g
}

// Add adds an ended span below another one; the zero parent stands for the client's. At most 8 fit.
func (g *Group) Add(c Context, name string, parent SpanID, start, end time.Time, attrs []Attr) *Span {
	s := &g.spans[g.n]
	g.ended[g.n] = s
	g.n++
	*s = Span{Name: name, Context: c, Parent: parent, Start: start, Attrs: attrs}
	if parent == (SpanID{}) {
		s.Parent, s.Remote = g.trace.Parent.Span, g.trace.Parent.Valid()
	}
	s.Ended(end)
	return s
}

// Attrs is memory for the attributes of all spans.
func (g *Group) Attrs() []Attr { return g.attrs[:0] }

// Send sends the spans.
func (g *Group) Send() {
	t := g.trace
	t.Send(g.ended[:g.n]...)
	clear(g.spans[:g.n]) // the attributes stay: their texts are short
	g.trace, g.n = nil, 0
	t.tracer.groups.Put(g)
}
