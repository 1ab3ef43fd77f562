package telemetry

import (
	"encoding/binary"

	oteltrace "go.opentelemetry.io/otel/trace"

	"pinion/runtime/trace"
)

// Tracer makes traces that are sent; nil means traces are off. All models of a server share it: it knows the spans of
// running predictions.
func (t *Telemetry) Tracer() *trace.Tracer {
	if t == nil {
		return nil
	}
	return t.tracer
}

func (t *Telemetry) newTracer() *trace.Tracer {
	return &trace.Tracer{
		Sample: t.config.sample(), Export: t.spans.add, Full: t.spanQueue.isFull, Most: t.spans.limits.Size,
		Ignore: len(t.config.Propagators) == 0, Forms: t.config.Propagators, Header: t.config.Header, Jaeger: t.config.Jaeger,
		Files: t.config.Files,
	}
}

// sample returns the sampler of the settings.
func (c *Config) sample() func(trace.ID, trace.Context) bool {
	root := map[string]func(trace.ID) bool{
		alwaysOn: always, parentOrOn: always, alwaysOff: never, parentOrOff: never,
	}[c.Sampler]
	if root == nil {
		root = ratioOf(c.Ratio)
	}
	follows := c.Sampler == parentOrOn || c.Sampler == parentOrOff || c.Sampler == parentOrRatio
	return func(id trace.ID, parent trace.Context) bool {
		if follows && parent.Valid() {
			return parent.Sampled
		}
		return root(id)
	}
}

// ratioOf samples a share of all traces, and the same ones as the SDK's TraceIDRatioBased, which takes longer.
func ratioOf(share float64) func(trace.ID) bool {
	below := uint64(share * (1 << 63))
	return func(id trace.ID) bool { return binary.BigEndian.Uint64(id[8:])>>1 < below }
}

func always(trace.ID) bool { return true }
func never(trace.ID) bool  { return false }

// scope names who made the spans and the metrics.
const scope = "pinion"

func spanContext(c trace.Context) oteltrace.SpanContext {
	flags := oteltrace.TraceFlags(0).WithSampled(c.Sampled)
	state, _ := oteltrace.ParseTraceState(c.State) // a malformed one is left out
	return oteltrace.NewSpanContext(oteltrace.SpanContextConfig{
		TraceID: oteltrace.TraceID(c.Trace), SpanID: oteltrace.SpanID(c.Span), TraceFlags: flags, TraceState: state,
	})
}
