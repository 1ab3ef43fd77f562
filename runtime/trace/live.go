package trace

import "sync"

// live is the contexts of running predictions, by id.
type live struct {
	mu   sync.Mutex
	byID map[string]*Context
}

// SetLive notes the span of a running prediction, by the prediction's id, for the lines that it logs. The first one with an id
// counts.
func (t *Trace) SetLive(id string, c *Context) {
	l := &t.tracer.live
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byID == nil {
		l.byID = map[string]*Context{}
	}
	if l.byID[id] == nil {
		l.byID[id] = c
	}
}

// Ended forgets a prediction's span, unless another one has the id.
func (t *Trace) Ended(id string, c *Context) {
	l := &t.tracer.live
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byID[id] == c {
		delete(l.byID, id)
	}
}

// Live is the span of the running prediction with that id; zero for none.
func (t *Tracer) Live(id string) (c Context) {
	if t == nil {
		return c
	}
	t.live.mu.Lock()
	defer t.live.mu.Unlock()
	if found := t.live.byID[id]; found != nil {
		c = *found
	}
	return c
}
