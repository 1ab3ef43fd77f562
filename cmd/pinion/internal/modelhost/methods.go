package modelhost

import (
	"time"

	"pinion/ipc"
	"pinion/runtime/trace"
)

// methodBatches records what a worker reports about its batched methods.
func (m *Model) methodBatches(worker int, of ipc.MethodBatches) {
	for method, samples := range of.Batches {
		for b := range samples.All {
			m.metrics.MethodBatch(method, b.Size, b.Wait, b.Took)
		}
	}
	for i := range of.Spans {
		m.methodSpan(worker, &of.Spans[i])
	}
}

// methodSpan ends the span of a batch, with links to the spans of its predictions.
func (m *Model) methodSpan(worker int, of *ipc.MethodSpan) {
	own, ok := trace.Parse(of.Parent, "")
	var links []trace.Context
	for _, link := range of.Links {
		if c, ok := trace.Parse(link, ""); ok {
			links = append(links, c)
		}
	}
	t := m.host.o.Tracer.At(own)
	if !ok || t == nil {
		return
	}
	attrs := trace.Attrs{}.Int("pinion.batch.size", int64(of.Size)).Text("pinion.batch.method", of.Method).
		Int("pinion.worker", int64(worker))
	if label := m.label(); label != "" {
		attrs = attrs.Text(trace.AttrModel, label)
	}
	began := time.Unix(0, of.Began)
	ended := began.Add(time.Duration(of.Took))
	span := t.At(own, "pinion.batch", trace.Internal, trace.SpanID{}, began, attrs)
	span.Worker, span.Links = true, links
	if of.Error != "" {
		span.Fail(ended, "prediction_failed", of.Error)
	}
	t.End(span, ended)
}
