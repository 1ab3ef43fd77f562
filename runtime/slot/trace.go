package slot

import (
	"strconv"
	"time"

	"pinion/ipc"
	"pinion/runtime/trace"
)

// Traced is what a traced call and its pool tell each other. The pool writes what is below Span until the call has ended.
type Traced struct {
	Span trace.Context // of the prediction: its batch links to it

	Place     Place         // where the call ran; zero: nowhere
	Times     ipc.Traced    // by the worker's clock, which is the front's; zero: it sent none
	BatchSize int           // 0: it ran in no batch
	Batch     trace.Context // the span of its batch
}

// Place is where a call runs.
type Place struct {
	Slot   string // the worker's number, and the slot's in it
	Worker int
	Device string // "": none is the worker's own
}

// Attrs are the place as attributes of a span: the slot's has Cog's name.
func (p Place) Attrs(to []trace.Attr) []trace.Attr {
	to = append(to, trace.Text("cog.slot.id", p.Slot), trace.Int("pinion.worker", int64(p.Worker)))
	if p.Device != "" {
		to = append(to, trace.Text("pinion.device", p.Device))
	}
	return to
}

// ranIn notes where a call ran that ends.
func (t *Traced) ranIn(c *Call) {
	t.Place = c.slot.place
	if r := c.batch.run; r != nil {
		t.BatchSize = len(r.calls)
		if r.trace != nil {
			t.Batch = r.trace.span
		}
	}
}

// newPlace names a slot by its index in its worker.
func newPlace(w *workerSlots, index int) Place {
	h := &w.hooks
	return Place{Slot: strconv.Itoa(h.Worker) + "." + strconv.Itoa(index), Worker: h.Worker, Device: h.Device}
}

// batchTrace is the trace of one batch; nil: it is not traced, and the methods do nothing.
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

// context is the context for the model, a JSON object; nil: none.
func (t *batchTrace) context() []byte {
	if t == nil {
		return nil
	}
	return []byte(`{"traceparent":"` + t.span.Parent() + `"}`)
}

// end ends the span of a batch whose function has ended.
func (t *batchTrace) end(s *Slot, r *batchRun, now time.Time, failed bool) {
	message := ""
	if failed {
		message = "the function raised an exception"
	}
	t.finish(s, r, r.began, now, message)
}

// crashed ends the span of a batch whose worker died.
func (t *batchTrace) crashed(s *Slot, r *batchRun, now time.Time, cause string) {
	t.finish(s, r, later(r.sentAt, s.freed), now, cause)
}

func (t *batchTrace) finish(s *Slot, r *batchRun, began, now time.Time, failure string) {
	if t == nil {
		return
	}
	attrs := s.place.Attrs([]trace.Attr{trace.Int("pinion.batch.size", int64(len(r.calls)))})
	span := t.trace.At(t.span, "pinion.batch", trace.Internal, trace.SpanID{}, began, attrs...)
	span.Worker, span.Links = true, t.links
	if failure != "" {
		span.Fail(now, "prediction_failed", failure)
	}
	t.trace.End(span, now)
}
