package telemetry

import (
	"context"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// OpenTelemetry's defaults for the times of a batch.
const (
	defaultDelay  = 5 * time.Second
	defaultExport = 30 * time.Second
)

type spanBatch struct {
	front, worker []byte // of the front, and those that stand for a worker
	n             int
}

// Sizes of encoded spans, in bytes.
const (
	typicalSpan = 200
	fullBatch   = 1 << 20       // a batch of this size is sent: over gRPC a collector takes 4 MiB
	maxQueued   = 16 << 20      // what waits
	kept        = 2 * fullBatch // how much memory a batch may have to be used again
)

// spanBatcher keeps encoded spans and sends them in batches, one after another, by the SDK's client. What waits has no
// pointers, and the garbage collector need not look at it.
type spanBatcher struct {
	client        otlptrace.Client
	posts         bool // the client's HTTP client is a poster
	queue         *queue
	limits        Batch // with defaults
	front, worker sender

	mu      sync.Mutex
	open    *spanBatch   // takes the next spans
	waiting []*spanBatch // full ones
	held    int          // bytes of what is not sent
	unused  sync.Pool

	full     chan struct{} // one token: a batch is full
	stopping chan struct{}
	stopped  chan struct{}
	ctx      context.Context // of exports
	cancel   context.CancelFunc
}

func (b *spanBatcher) start() {
	b.open = b.empty()
	b.full, b.stopping, b.stopped = make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
	b.ctx, b.cancel = context.WithCancel(context.Background())
	go b.run()
}

// add queues n encoded spans, or drops them. It implements trace.Tracer.Export.
func (b *spanBatcher) add(front, worker []byte, n int) {
	size := len(front) + len(worker)
	if size == 0 { // the queue was full when they ended
		b.queue.drop(n)
		return
	}
	if !b.queue.admit(n) {
		return
	}
	b.mu.Lock()
	room, waited := b.held+size <= maxQueued, len(b.waiting)
	if room {
		if b.open.n+n > b.limits.Size {
			b.close()
		}
		o := b.open
		o.front, o.worker, o.n = append(o.front, front...), append(o.worker, worker...), o.n+n
		b.held += size
		if o.n == b.limits.Size || len(o.front)+len(o.worker) >= fullBatch {
			b.close()
		}
	}
	full := len(b.waiting) > waited
	b.mu.Unlock()
	if !room {
		b.queue.waiting.Add(int64(-n))
		b.queue.drop(n)
	}
	if full {
		select {
		case b.full <- struct{}{}:
		default:
		}
	}
}

// close puts the open batch to those that wait.
func (b *spanBatcher) close() { b.waiting, b.open = append(b.waiting, b.open), b.empty() }

func (b *spanBatcher) empty() *spanBatch {
	if used, ok := b.unused.Get().(*spanBatch); ok {
		return used
	}
	return &spanBatch{
		front:  make([]byte, 0, typicalSpan*b.limits.Size/2),
		worker: make([]byte, 0, typicalSpan*b.limits.Size/2),
	}
}

func (b *spanBatcher) run() {
	defer close(b.stopped)
	tick := time.NewTicker(b.limits.Delay)
	defer tick.Stop()
	for stopping := false; !stopping; {
		whole := true
		select {
		case <-b.full:
			whole = false
		case <-tick.C:
		case <-b.stopping:
			stopping = true
		}
		for batch := b.take(whole); batch != nil; batch = b.take(whole) {
			b.send(batch)
		}
	}
}

// take returns the oldest full batch, or nil. whole means that the open batch will do if no full one waits.
func (b *spanBatcher) take(whole bool) (batch *spanBatch) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.waiting) > 0 {
		batch = b.waiting[0]
		b.waiting = slices.Delete(b.waiting, 0, 1)
	} else if whole && b.open.n > 0 {
		batch, b.open = b.open, b.empty()
	}
	return batch
}

func (b *spanBatcher) send(batch *spanBatch) {
	ctx, cancel := context.WithTimeout(b.ctx, b.limits.Timeout)
	defer cancel()
	var p post
	var messages []*tracepb.ResourceSpans
	add := func(by *sender, encoded []byte) {
		switch {
		case len(encoded) == 0:
		case b.posts:
			p.add(by.head(len(encoded)))
			p.add(encoded)
		default:
			messages = append(messages, by.message(encoded))
		}
	}
	add(&b.front, batch.front)
	add(&b.worker, batch.worker)
	if b.posts {
		ctx = p.in(ctx)
	}
	err := b.client.UploadTraces(ctx, messages)
	b.queue.sent(batch.n, err)
	b.mu.Lock()
	b.held -= len(batch.front) + len(batch.worker)
	b.mu.Unlock()
	if err != nil {
		otel.Handle(err)
	}
	if err == nil && p.read.Load() == 0 && cap(batch.front)+cap(batch.worker) <= kept {
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
