package trace

// SetLive notes the span of a running prediction, by the prediction's id, for the lines that it logs.
func (t *Trace) SetLive(id string, c Context) { t.tracer.live.LoadOrStore(id, c) }

// Ended forgets a prediction's span, unless another one has the id.
func (t *Trace) Ended(id string, c Context) { t.tracer.live.CompareAndDelete(id, c) }

// Live is the span of the running prediction with that id; zero for none.
func (t *Tracer) Live(id string) Context {
	if t == nil {
		return Context{}
	}
	c, _ := t.live.Load(id)
	live, _ := c.(Context)
	return live
}
