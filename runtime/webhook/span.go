package webhook

import (
	"time"

	"pinion/runtime/trace"
)

// beginSpan begins the span of one try. It returns nil if the prediction is not traced.
func (d *delivery) beginSpan() *trace.Span {
	t := d.prediction.Request.Trace
	if t == nil {
		return nil
	}
	return t.Span("pinion.webhook", trace.Client, t.Prediction, time.Now(),
		trace.Attrs{}.Text("cog.prediction.id", d.prediction.ID()))
}

func (d *delivery) endSpan(span *trace.Span, err error) {
	if span == nil {
		return
	}
	now := time.Now()
	if err != nil {
		span.Fail(now, "webhook_failed", err.Error())
	}
	d.prediction.Request.Trace.End(span, now)
}
