package telemetry

import (
	"encoding/json"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// collected is what an OpenTelemetry collector wrote of one export.
type collected struct {
	ResourceMetrics []struct {
		ScopeMetrics []struct {
			Metrics []struct{ Name string }
		}
	}
	ResourceSpans []struct {
		ScopeSpans []struct {
			Spans []struct {
				Name       string
				Attributes []struct{ Key string }
			}
		}
	}
}

// startCollector runs a collector that writes what comes to a file. It returns its address and the file.
func startCollector(t *testing.T) (address, file string) {
	t.Helper()
	tool := harness.Tool(t, "collector/collector", "otelcol")
	dir := t.TempDir()
	address, file = harness.FreeAddress(t), filepath.Join(dir, "out.json")
	config := filepath.Join(dir, "config.yaml")
	text := fmt.Sprintf(`receivers: {otlp: {protocols: {http: {endpoint: %q}}}}
exporters: {file: {path: %q, flush_interval: 100ms}}
service:
  telemetry: {metrics: {level: none}}
  pipelines:
    traces: {receivers: [otlp], exporters: [file]}
    metrics: {receivers: [otlp], exporters: [file]}
    logs: {receivers: [otlp], exporters: [file]}
`, address, file)
	harness.WriteFile(t, config, text)
	harness.RunBeside(t, "the collector", exec.Command(tool, "--config", config))
	assert.Eventually(t, "the collector listens", func() bool { return listens(address) })
	return address, file
}

// TestCollector_RealCollectorTakesTelemetry: an OpenTelemetry collector receives all metrics and the spans of
// predictions, and takes the configuration in deploy/observability.
func TestCollector_RealCollectorTakesTelemetry(t *testing.T) {
	harness.Full(t)
	t.Parallel()
	tool := harness.Tool(t, "collector/collector", "otelcol")
	if out, err := exec.Command(tool, "validate", "--config",
		filepath.Join(harness.ObservabilityFolder, "collector.yaml")).CombinedOutput(); err != nil {
		t.Errorf("collector.yaml: got %v, want no error\n%s", err, out)
	}
	address, file := startCollector(t)
	s := harness.Ready(t, harness.Options{Dir: meteredModel(t), Model: "metered.py:Runner", Env: []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + address, "OTEL_METRIC_EXPORT_INTERVAL=200", "OTEL_BSP_SCHEDULE_DELAY=100",
	}})
	s.Succeed(harness.Input{"tokens": 1})
	var names map[string]bool
	page := harness.Scrape(t, s)
	assert.Eventually(t, "metrics and spans have come", func() bool {
		names = collectedNames(t, file)
		for name := range page {
			if !names[name] {
				return false
			}
		}
		return names["cog.runtime.prediction.count"] && names["http.server.request.duration"] && names["cog.prediction"]
	})
	assert.Equal(t, "metrics were dropped", page.Value("pinion_telemetry_dropped_total", "signal", "metrics"), 0)
}

// TestCollector_RealCollectorTakesGenerations: an OpenTelemetry collector receives the GenAI attributes of a
// prediction's span.
func TestCollector_RealCollectorTakesGenerations(t *testing.T) {
	harness.Full(t)
	t.Parallel()
	address, file := startCollector(t)
	s := harness.Ready(t, harness.Options{Model: "generative.py:Chat", Args: []string{"--model", "m"}, Env: []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + address, "OTEL_METRIC_EXPORT_INTERVAL=200", "OTEL_BSP_SCHEDULE_DELAY=100",
	}})
	body := []byte(`{"model":"m","messages":[{"role":"user","content":"a"}],"max_tokens":5,"temperature":0.5,"stop":["z"]}`)
	answer := s.Do("POST", "/v1/chat/completions", body)
	assert.TrueNow(t, answer.Code == 200, "%d %s, want 200", answer.Code, answer.Body)
	wanted := []string{
		"gen_ai.operation.name", "gen_ai.request.model", "gen_ai.request.max_tokens", "gen_ai.request.temperature",
		"gen_ai.request.stop_sequences",
		"gen_ai.response.model", "gen_ai.response.finish_reasons", "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens",
	}
	assert.Eventually(t, "the attributes have come", func() bool {
		names := collectedNames(t, file)
		return !slices.ContainsFunc(wanted, func(name string) bool { return !names["cog.prediction "+name] })
	})
}

// collectedNames are the names of the metrics and spans in a collector's file, and of each span's attributes after its
// own.
func collectedNames(t *testing.T, file string) map[string]bool {
	t.Helper()
	text := harness.ReadFile(t, file)
	names := map[string]bool{}
	for line := range strings.Lines(text) {
		var c collected
		if json.Unmarshal([]byte(line), &c) != nil {
			continue // the last line is being written
		}
		for _, r := range c.ResourceMetrics {
			for _, scope := range r.ScopeMetrics {
				for _, m := range scope.Metrics {
					names[m.Name] = true
				}
			}
		}
		for _, r := range c.ResourceSpans {
			for _, scope := range r.ScopeSpans {
				for _, span := range scope.Spans {
					names[span.Name] = true
					for _, a := range span.Attributes {
						names[span.Name+" "+a.Key] = true
					}
				}
			}
		}
	}
	return names
}

// listens reports whether a server takes connections there.
func listens(address string) bool {
	conn, err := net.Dial("tcp", address)
	if err == nil {
		conn.Close()
	}
	return err == nil
}
