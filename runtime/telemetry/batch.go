package telemetry

import (
	"context"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"pinion/runtime/trace"
)

// OpenTelemetry's defaults for the times of a batch.
const (
	defaultDelay  = 5 * time.Second
	defaultExport = 30 * time.Second
)

// spanBatch is encoded spans.
type spanBatch struct {
	front, worker []byte // of the front, and those that stand for a worker
	n             int
}

// typicalSpan is the encoded size of a span, in bytes.
const typicalSpan = 200

// kept is how much memory a batch may have to be used again, in bytes.
const kept = 2 << 20

// spanBatcher encodes ended spans and sends them in batches, one after another, by the SDK's client. A span is encoded when it
// ends: what waits then has no pointers, and the garbage collector need not look at it.
type spanBatcher struct {
	client        otlptrace.Client
	queue         *queue
	limits        Batch // with defaults
	front, worker *resource.Resource
	version       string

	mu      sync.Mutex
	encode  encoder
	open    *spanBatch   // takes the next span
	waiting []*spanBatch // full ones
	unused  sync.Pool

	full     chan struct{} // one token: a batch is full
	stopping chan struct{}
	stopped  chan struct{}
	ctx      context.Context // of exports
	cancel   context.CancelFunc
}

// start begins to send.
func (b *spanBatcher) start() {
	b.open = b.empty()
	b.full, b.stopping, b.stopped = make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
	b.ctx, b.cancel = context.WithCancel(context.Background())
	go b.run()
}

// add queues ended spans, or drops them.
func (b *spanBatcher) add(spans ...*trace.Span) {
	spans = spans[:b.queue.admit(len(spans))]
	b.mu.Lock()
	waited := len(b.waiting)
	for _, s := range spans {
		to := &b.open.front
		if s.Worker {
			to = &b.open.worker
		}
		*to = b.encode.append(*to, s)
		if b.open.n++; b.open.n == b.limits.Size {
			b.waiting, b.open = append(b.waiting, b.open), b.empty()
		}
	}
	full := len(b.waiting) > waited
	b.mu.Unlock()
	if full {
		select {
		case b.full <- struct{}{}:
		default:
		}
	}
}

// empty is a batch without spans.
func (b *spanBatcher) empty() *spanBatch {
	if used, ok := b.unused.Get().(*spanBatch); ok {
		return used
	}
	return &spanBatch{front: make([]byte, 0, typicalSpan*b.limits.Size/2), worker: make([]byte, 0, typicalSpan*b.limits.Size/2)}
}

func (b *spanBatcher) run() {
	defer close(b.stopped)
	tick := time.NewTicker(b.limits.Delay)
	defer tick.Stop()
	for stopping := false; !stopping; {
		all := true
		select {
		case <-b.full:
			all = false
		case <-tick.C:
		case <-b.stopping:
			stopping = true
		}
		for batch := b.take(all); batch != nil; batch = b.take(all) {
			b.send(batch)
		}
	}
}

// take returns the oldest batch; nil: there is none. all: one that is not full will do.
func (b *spanBatcher) take(all bool) (batch *spanBatch) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.waiting) > 0 {
		batch = b.waiting[0]
		b.waiting = slices.Delete(b.waiting, 0, 1)
	} else if all && b.open.n > 0 {
		batch, b.open = b.open, b.empty()
	}
	return batch
}

func (b *spanBatcher) send(batch *spanBatch) {
	ctx, cancel := context.WithTimeout(b.ctx, b.limits.Timeout)
	defer cancel()
	var all []*tracepb.ResourceSpans
	if len(batch.front) > 0 {
		all = append(all, resourceSpans(b.front, b.version, batch.front))
	}
	if len(batch.worker) > 0 {
		all = append(all, resourceSpans(b.worker, b.version, batch.worker))
	}
	err := b.client.UploadTraces(ctx, all)
	b.queue.sent(batch.n, err)
	if err != nil {
		otel.Handle(err)
	}
	if err == nil && cap(batch.front)+cap(batch.worker) <= kept {
		b.unused.Put(&spanBatch{front: batch.front[:0], worker: batch.worker[:0]})
	}
}

// Shutdown sends what waits, until the context ends.
func (b *spanBatcher) Shutdown(ctx context.Context) error {
	defer context.AfterFunc(ctx, b.cancel)()
	close(b.stopping)
	<-b.stopped
	b.cancel()
	return b.client.Stop(ctx)
}
