package telemetry

import (
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestToolCalls_HaveSpans: the span of a prediction that MCP asked for names the tool, by OpenTelemetry's conventions.
func TestToolCalls_HaveSpans(t *testing.T) {
	t.Parallel()
	c := harness.StartCollector(t)
	s := harness.Ready(t, harness.Options{
		Model: "generative.py:Speaker", Args: []string{"--model", "m"}, Env: []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL},
	})
	const trace = "00000000000000000000000000000001"
	answer := s.Do("POST", "/mcp", []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"m","arguments":{"input":"a b"}}}`),
		"MCP-Protocol-Version", "2025-11-25", "Traceparent", "00-"+trace+"-0000000000000001-01")
	assert.Equal(t, "status", answer.Code, 200)
	s.Stop()
	server, found := "", []*harness.Span{}
	for _, span := range c.Spans() {
		switch {
		case span.TraceID() != trace:
		case span.Name == "POST /mcp":
			server = span.SpanID()
		case span.Name == "cog.prediction":
			found = append(found, span)
		}
	}
	assert.Equal(t, "spans of predictions", len(found), 1)
	assert.Equal(t, "parent", found[0].ParentID(), server)
	attributes := found[0].Attrs()
	for name, want := range map[string]string{
		"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "m", "gen_ai.tool.type": "function",
		"mcp.method.name": "tools/call", "mcp.protocol.version": "2025-11-25",
	} {
		assert.Equal(t, name, attributes[name], any(want))
	}
}
