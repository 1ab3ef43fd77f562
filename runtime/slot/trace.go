package slot

import (
	"strconv"
	"time"

	"pinion/ipc"
	"pinion/runtime/trace"
)

// Traced is shared by a traced call and its pool. The pool writes the fields after Span until the call has ended.
type Traced struct {
	Span trace.Context // of the prediction: its batch links to it

	Place     trace.Attrs    // where the call ran; nil if it did not
	Times     ipc.Traced     // by the worker's clock, which is also the front's; zero if it sent none
	BatchSize int            // 0 if it ran in no batch
	Batch     *trace.Context // the span of its batch; nil if it has none
	Ranks     []RankPart     // of a call that a group ran
}

// RankPart is what one rank of a group did for a call.
type RankPart struct {
	Rank   int
	Ended  time.Time
	Took   time.Duration
	Failed bool
}

// grouped is a Worker that is a group. Parts returns what its ranks did for a traced call, once.
type grouped interface{ Parts(id uint64) []RankPart }

// ranIn records where a call ran, at its end.
func (t *Traced) ranIn(c *Call) {
	t.Place = c.slot.place
	if g, ok := c.slot.worker.process.(grouped); ok {
		t.Ranks = g.Parts(c.id)
	}
	if r := c.batch.run; r != nil {
		t.BatchSize = len(r.calls)
		if r.trace != nil {
			t.Batch = &r.trace.span
		}
	}
}

// placeOf returns the attributes of a slot: its worker, its index there (under Cog's name), and the worker's device if
// it has its own.
func placeOf(w *workerSlots, index int) trace.Attrs {
	h := &w.hooks
	a := trace.Attrs{}.Text("cog.slot.id", strconv.Itoa(h.Worker)+"."+strconv.Itoa(index)).Int("pinion.worker",
		int64(h.Worker))
	if h.Device != "" {
		a = a.Text("pinion.device", h.Device)
	}
	return a
}

// batchTrace is the trace of one batch; nil means it is not traced, and the methods do nothing.
type batchTrace struct {
	trace *trace.Trace
	span  trace.Context
	links []trace.Context
}

// maxLinks is how many items a batch's span names at most: OpenTelemetry's limit.
const maxLinks = 128

// traceBatch begins the trace of a batch with a traced item.
func (s *Slot) traceBatch(r *batchRun) {
	if s.pool.o.Tracer == nil {
		return
	}
	var links []trace.Context
	for _, c := range r.calls {
		if c.Traced != nil && len(links) < maxLinks {
			links = append(links, c.Traced.Span)
		}
	}
	if t := s.pool.o.Tracer.Linked(links); t != nil {
		r.trace = &batchTrace{trace: t, span: t.New(), links: links}
	}
}

// context returns the context for the model, a JSON object, or nil.
func (t *batchTrace) context() []byte {
	if t == nil {
		return nil
	}
	return []byte(`{"traceparent":"` + t.span.Parent() + `"}`)
}

// end ends the span of a batch that has ended. failure says why it failed, or is "".
func (t *batchTrace) end(s *Slot, r *batchRun, began, now time.Time, failure string) {
	if t == nil {
		return
	}
	attrs := append(trace.Attrs{}.Int("pinion.batch.size", int64(len(r.calls))), s.place...)
	if model := s.pool.o.Model; model != "" {
		attrs = attrs.Text(trace.AttrModel, model)
	}
	span := t.trace.At(t.span, "pinion.batch", trace.Internal, trace.SpanID{}, began, attrs)
	span.Worker, span.Links = true, t.links
	if failure != "" {
		span.Fail(now, "prediction_failed", failure)
	}
	t.trace.End(span, now)
}
