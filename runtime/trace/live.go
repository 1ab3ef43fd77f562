package trace

import "sync"

// live holds the contexts of running predictions. Models of one server may have predictions with the same id.
type live struct {
	mu   sync.Mutex
	byID map[liveKey]*Context
}

type liveKey struct{ model, id string }

// SetLive records the span of a model's running prediction, by the prediction's id, for the lines that it logs. If
// several have the same id, the first counts. The model is "" in a server with one model.
func (t *Trace) SetLive(model, id string, c *Context) {
	l := &t.tracer.live
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byID == nil {
		l.byID = map[liveKey]*Context{}
	}
	key := liveKey{model, id}
	if l.byID[key] == nil {
		l.byID[key] = c
	}
}

// Ended forgets a prediction's span, unless another one has the id.
func (t *Trace) Ended(model, id string, c *Context) {
	l := &t.tracer.live
	l.mu.Lock()
	defer l.mu.Unlock()
	key := liveKey{model, id}
	if l.byID[key] == c {
		delete(l.byID, key)
	}
}

// Live returns the span of the model's running prediction with that id, or zero.
func (t *Tracer) Live(model, id string) (c Context) {
	if t == nil {
		return c
	}
	t.live.mu.Lock()
	defer t.live.mu.Unlock()
	if found := t.live.byID[liveKey{model, id}]; found != nil {
		c = *found
	}
	return c
}
