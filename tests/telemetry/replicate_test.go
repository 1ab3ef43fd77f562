package telemetry

import (
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestTraces_OfReplicate: a prediction that Replicate's clients create has its span below that of the request, whose
// trace it is in.
func TestTraces_OfReplicate(t *testing.T) {
	t.Parallel()
	c := harness.StartCollector(t)
	s := harness.Ready(t, harness.Options{
		Model: "replicate.py:Shout", Args: []string{"--model", "m"}, Env: []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL},
	})
	const trace = "00000000000000000000000000000005"
	answer := s.Do("POST", "/v1/models/acme/m/predictions", `{"input":{"text":"a"}}`, "Prefer", "wait",
		"Traceparent", "00-"+trace+"-0000000000000001-01")
	harness.WantCode(t, "the prediction", answer, 201)
	s.Stop()
	server, parent := "", ""
	for _, span := range c.Spans() {
		switch {
		case span.TraceID() != trace:
		case span.Name == "POST /v1/models/{owner}/{name}/predictions":
			server = span.SpanID()
		case span.Name == "cog.prediction":
			parent = span.ParentID()
		}
	}
	assert.True(t, server != "" && parent == server,
		"got a prediction below %q, want it below %q, the request", parent, server)
}
