package telemetry

import (
	"fmt"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	oteltrace "go.opentelemetry.io/otel/trace"

	"pinion/runtime/trace"
	"pinion/tests/assert"
)

// TestSpans_RatioSamplesTracesThatSDKDoes: so that a trace is whole that several servers sample.
func TestSpans_RatioSamplesTracesThatSDKDoes(t *testing.T) {
	tracer := &trace.Tracer{Sample: func(trace.ID, trace.Context) bool { return false }}
	for _, share := range []float64{0, 1e-9, 0.01, 0.3, 1} {
		ours, theirs := ratioOf(share), sdktrace.TraceIDRatioBased(share)
		for range 1000 {
			id := tracer.Root().ID
			want := theirs.ShouldSample(
				sdktrace.SamplingParameters{
					TraceID:       oteltrace.TraceID(id),
					ParentContext: t.Context(),
				}).Decision == sdktrace.RecordAndSample
			assert.Equal(t, fmt.Sprintf("%s at %g: sampled", id, share), ours(id), want)
		}
	}
}
