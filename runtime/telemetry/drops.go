package telemetry

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"

	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// drops counts what a signal loses: spans, data points or log records. The first loss is logged.
type drops struct {
	signal string
	log    *slog.Logger
	n      atomic.Uint64
	once   sync.Once
}

func (d *drops) add(n int, why string) {
	if n == 0 {
		return
	}
	d.n.Add(uint64(n))
	d.once.Do(func() {
		d.log.Warn("telemetry is dropped: the collector does not accept it", "signal", d.signal, "reason", why)
	})
}

// queue counts what waits for its export, so that what does not fit is dropped here, where it is counted: the SDK drops
// silently.
type queue struct {
	*drops
	limit   int64
	waiting atomic.Int64
}

func (q *queue) isFull() bool { return q.waiting.Load() >= q.limit }

// admit takes n items in, or drops them.
func (q *queue) admit(n int) bool {
	if q.waiting.Add(int64(n)) <= q.limit {
		return true
	}
	q.waiting.Add(int64(-n))
	q.drop(n)
	return false
}

func (q *queue) drop(n int) { q.add(n, "the queue is full") }

func (q *queue) sent(n int, err error) {
	q.waiting.Add(int64(-n))
	if err != nil {
		q.add(n, err.Error())
	}
}

// abandon drops what waits, because the process ends.
func (q *queue) abandon() {
	q.add(int(max(0, q.waiting.Swap(0))), "the server stops")
}

// logExporter reports its exports to a queue.
type logExporter struct {
	sdklog.Exporter
	queue *queue
}

func (x logExporter) Export(ctx context.Context, records []sdklog.Record) error {
	err := x.Exporter.Export(ctx, records)
	x.queue.sent(len(records), err)
	return err
}

// logQueue is a processor that admits records to the one below.
type logQueue struct {
	sdklog.Processor
	queue *queue
}

func (p logQueue) OnEmit(ctx context.Context, r *sdklog.Record) error {
	if !p.queue.admit(1) {
		return nil
	}
	return p.Processor.OnEmit(ctx, r)
}

// metricExporter counts the data points of exports that fail.
type metricExporter struct {
	sdkmetric.Exporter
	drops *drops
}

func (x metricExporter) Export(ctx context.Context, m *metricdata.ResourceMetrics) error {
	err := x.Exporter.Export(ctx, m)
	if err != nil {
		x.drops.add(points(m), err.Error())
	}
	return err
}

func points(m *metricdata.ResourceMetrics) (n int) {
	for _, scope := range m.ScopeMetrics {
		for _, metric := range scope.Metrics {
			switch data := metric.Data.(type) {
			case metricdata.Sum[float64]:
				n += len(data.DataPoints)
			case metricdata.Gauge[float64]:
				n += len(data.DataPoints)
			case metricdata.Histogram[float64]:
				n += len(data.DataPoints)
			default:
				n++
			}
		}
	}
	return n
}
