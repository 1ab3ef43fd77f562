package telemetry

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/uuid"
	"go.opentelemetry.io/otel"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"

	"pinion/runtime/trace"
)

// FlushLimit is how long Stop may take. With what a worker takes for the spans of its model, a stop waits for a second
// at most.
const FlushLimit = 700 * time.Millisecond

type Options struct {
	Version string // service.version
	// Log gets what goes wrong. It must not be a logger that sends its records by this package.
	Log *slog.Logger
}

type Telemetry struct {
	config   *Config
	version  string
	resource *resource.Resource // of the front
	worker   *resource.Resource // of spans that stand for a worker

	spans   *spanBatcher  // nil means traces are off
	tracer  *trace.Tracer // nil means traces are off
	meters  *sdkmetric.MeterProvider
	records *sdklog.LoggerProvider

	spanQueue, logQueue *queue
	metricDrops         *drops
}

// Start makes the exporters of the signals in c. It connects to nothing yet. nil means all are off.
func Start(c *Config, o Options) (*Telemetry, error) {
	if !c.On() {
		return nil, nil
	}
	otel.SetLogger(logr.Discard())
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { o.Log.Debug("telemetry was not sent", "error", err) }))
	instance := uuid.NewString()
	t := &Telemetry{
		config: c, version: o.Version, resource: c.newResource(o.Version, instance, "parent"),
		worker:      c.newResource(o.Version, instance, "worker"),
		spanQueue:   &queue{drops: &drops{signal: signalTraces, log: o.Log}, limit: int64(c.SpanBatch.Queue)},
		logQueue:    &queue{drops: &drops{signal: signalLogs, log: o.Log}, limit: int64(c.LogBatch.Queue)},
		metricDrops: &drops{signal: signalMetrics, log: o.Log},
	}
	err := t.startSpans()
	if err == nil {
		err = t.startRecords()
	}
	if err != nil {
		t.Stop()
		return nil, err
	}
	return t, nil
}

func (t *Telemetry) startSpans() error {
	if t.config.Traces == nil {
		return nil
	}
	client := newSpanClient(t.config.Traces)
	if err := client.Start(context.Background()); err != nil {
		return fmt.Errorf("make the exporter of %s: %w", signalTraces, err)
	}
	limits := t.config.SpanBatch
	limits.Delay, limits.Timeout = cmp.Or(limits.Delay, defaultDelay), cmp.Or(limits.Timeout, defaultExport)
	t.spans = &spanBatcher{client: client, posts: t.config.Traces.posts(), queue: t.spanQueue, limits: limits}
	for to, of := range map[*sender]*resource.Resource{&t.spans.front: t.resource, &t.spans.worker: t.worker} {
		var err error
		if *to, err = newSender(of, t.version); err != nil {
			return fmt.Errorf("describe the sender of %s: %w", signalTraces, err)
		}
	}
	t.spans.start()
	t.tracer = t.newTracer()
	return nil
}

// SendMetrics begins to send the set's metrics, at the interval of the settings. Where metrics are off it does nothing.
func (t *Telemetry) SendMetrics(set MetricSet) error {
	if t == nil || t.config.Metrics == nil {
		return nil
	}
	exporter, err := newMetricExporter(context.Background(), t.config.Metrics)
	if err != nil {
		return err
	}
	reader := []sdkmetric.PeriodicReaderOption{sdkmetric.WithProducer(producer{set, t.version})}
	if every := t.config.MetricInterval; every > 0 {
		reader = append(reader, sdkmetric.WithInterval(every))
	}
	if limit := t.config.MetricLimit; limit > 0 {
		reader = append(reader, sdkmetric.WithTimeout(limit))
	}
	t.meters = sdkmetric.NewMeterProvider(sdkmetric.WithResource(t.resource),
		sdkmetric.WithReader(sdkmetric.NewPeriodicReader(metricExporter{exporter, t.metricDrops}, reader...)))
	return nil
}

func (t *Telemetry) startRecords() error {
	if t.config.Logs == nil {
		return nil
	}
	exporter, err := newLogExporter(context.Background(), t.config.Logs)
	if err != nil {
		return err
	}
	b := t.config.LogBatch
	o := []sdklog.BatchProcessorOption{sdklog.WithMaxQueueSize(b.Queue), sdklog.WithExportMaxBatchSize(b.Size)}
	if b.Delay > 0 {
		o = append(o, sdklog.WithExportInterval(b.Delay))
	}
	if b.Timeout > 0 {
		o = append(o, sdklog.WithExportTimeout(b.Timeout))
	}
	processor := sdklog.NewBatchProcessor(logExporter{exporter, t.logQueue}, o...)
	t.records = sdklog.NewLoggerProvider(sdklog.WithResource(t.resource),
		sdklog.WithProcessor(logQueue{processor, t.logQueue}))
	return nil
}

// Dropped returns how much of each signal was lost until now: spans, data points, log records. Signals that are off are
// left out.
func (t *Telemetry) Dropped() map[string]uint64 {
	dropped := map[string]uint64{}
	if t == nil {
		return dropped
	}
	if t.spans != nil {
		dropped[signalTraces] = t.spanQueue.n.Load()
	}
	if t.meters != nil {
		dropped[signalMetrics] = t.metricDrops.n.Load()
	}
	if t.records != nil {
		dropped[signalLogs] = t.logQueue.n.Load()
	}
	return dropped
}

// Stop sends what waits, for FlushLimit at most; the rest is dropped. Nothing may be given to t afterwards.
func (t *Telemetry) Stop() {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), FlushLimit)
	defer cancel()
	var stopped sync.WaitGroup
	stop := func(shutdown func(context.Context) error) {
		stopped.Go(func() { _ = shutdown(ctx) }) // what it could not send is counted
	}
	if t.spans != nil {
		stop(t.spans.Shutdown)
	}
	if t.meters != nil {
		stop(t.meters.Shutdown)
	}
	if t.records != nil {
		stop(t.records.Shutdown)
	}
	done := make(chan struct{})
	go func() { stopped.Wait(); close(done) }()
	select { // the SDK's own waits do not all heed the context
	case <-done:
	case <-ctx.Done():
	}
	t.spanQueue.abandon()
	t.logQueue.abandon()
}
