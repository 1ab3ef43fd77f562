package telemetry

import (
	"context"
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

// typicalSpan is the encoded size of a span, in bytes.
const typicalSpan = 200

// spanBatcher gathers ended spans and sends them in batches, one after another, by the SDK's client.
type spanBatcher struct {
	client        otlptrace.Client
	queue         *queue
	limits        Batch // with defaults
	front, worker *resource.Resource
	version       string

	mu      sync.Mutex
	waiting []*trace.Span

	full     chan struct{} // one token: a batch is full
	stopping chan struct{}
	stopped  chan struct{}
	ctx      context.Context // of exports
	cancel   context.CancelFunc
}

// start begins to send.
func (b *spanBatcher) start() {
	b.full, b.stopping, b.stopped = make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
	b.ctx, b.cancel = context.WithCancel(context.Background())
	go b.run()
}

// add queues an ended span, or drops it.
func (b *spanBatcher) add(s *trace.Span) {
	if !b.queue.admit() {
		return
	}
	b.mu.Lock()
	b.waiting = append(b.waiting, s)
	enough := len(b.waiting) == b.limits.Size
	b.mu.Unlock()
	if enough {
		select {
		case b.full <- struct{}{}:
		default:
		}
	}
}

func (b *spanBatcher) run() {
	defer close(b.stopped)
	var encode encoder
	var batch []*trace.Span
	tick := time.NewTicker(b.limits.Delay)
	defer tick.Stop()
	for stopping := false; !stopping; {
		least := 1
		select {
		case <-b.full:
			least = b.limits.Size
		case <-tick.C:
		case <-b.stopping:
			stopping = true
		}
		for {
			if batch = b.take(batch, least); len(batch) == 0 {
				break
			}
			b.send(&encode, batch)
		}
	}
}

// take returns the oldest spans in the memory of batch; none where there are fewer than least.
func (b *spanBatcher) take(batch []*trace.Span, least int) []*trace.Span {
	clear(batch)
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.waiting) < least {
		return batch[:0]
	}
	n := min(len(b.waiting), b.limits.Size)
	batch = append(batch[:0], b.waiting[:n]...)
	rest := copy(b.waiting, b.waiting[n:])
	clear(b.waiting[rest:])
	b.waiting = b.waiting[:rest]
	return batch
}

func (b *spanBatcher) send(e *encoder, batch []*trace.Span) {
	ctx, cancel := context.WithTimeout(b.ctx, b.limits.Timeout)
	defer cancel()
	err := b.client.UploadTraces(ctx, b.encode(e, batch))
	b.queue.sent(len(batch), err)
	if err != nil {
		otel.Handle(err)
	}
}

// encode makes the message of a batch: spans of the front and spans that stand for a worker.
func (b *spanBatcher) encode(e *encoder, batch []*trace.Span) (all []*tracepb.ResourceSpans) {
	front, worker := make([]byte, 0, typicalSpan*len(batch)), []byte(nil)
	for _, s := range batch {
		if s.Worker {
			worker = e.append(worker, s)
		} else {
			front = e.append(front, s)
		}
	}
	if len(front) > 0 {
		all = append(all, resourceSpans(b.front, b.version, front))
	}
	if len(worker) > 0 {
		all = append(all, resourceSpans(b.worker, b.version, worker))
	}
	return all
}

// Shutdown sends what waits, until the context ends.
func (b *spanBatcher) Shutdown(ctx context.Context) error {
	defer context.AfterFunc(ctx, b.cancel)()
	close(b.stopping)
	<-b.stopped
	b.cancel()
	return b.client.Stop(ctx)
}
