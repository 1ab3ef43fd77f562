package telemetry

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	metricpb "go.opentelemetry.io/proto/otlp/metrics/v1"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// aClientsTrace is a trace id, and sampled the header of a client that samples it.
const (
	aClientsTrace = "0af7651916cd43dd8448eb211c80319c"
	sampled       = "00-" + aClientsTrace + "-b7ad6b7169203331-01"
)

// lastMetrics are the newest of each metric, by name.
func lastMetrics(c *harness.Collector) map[string]*metricpb.Metric {
	byName := map[string]*metricpb.Metric{}
	for _, export := range c.Metrics() {
		for _, scope := range export.GetScopeMetrics() {
			for _, m := range scope.GetMetrics() {
				byName[m.GetName()] = m
			}
		}
	}
	return byName
}

// sentValue is the value of a data point: of a histogram, how many there were. labels are pairs of names and values.
func sentValue(m *metricpb.Metric, labels ...string) float64 {
	for _, p := range m.GetSum().GetDataPoints() {
		if has(fmt.Sprint(p.GetAttributes()), labels) {
			return p.GetAsDouble()
		}
	}
	for _, p := range m.GetHistogram().GetDataPoints() {
		if has(fmt.Sprint(p.GetAttributes()), labels) {
			return float64(p.GetCount())
		}
	}
	return -1
}

func has(attributes string, labels []string) bool {
	for _, l := range labels {
		if !strings.Contains(attributes, `"`+l+`"`) {
			return false
		}
	}
	return true
}

// TestMetricsOtlp_MetricsByOTLP: the collector gets all of the page, and the names of Cog and OpenTelemetry, by both
// protocols.
func TestMetricsOtlp_MetricsByOTLP(t *testing.T) {
	t.Parallel()
	dir := meteredModel(t)
	for _, protocol := range []string{"http/protobuf", "grpc"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			c := harness.StartCollector(t)
			url := map[string]string{"http/protobuf": c.URL, "grpc": c.GRPC}[protocol]
			s := harness.Ready(t, harness.Options{Dir: dir, Model: "metered.py:Runner", Env: []string{
				"OTEL_EXPORTER_OTLP_ENDPOINT=" + url, "OTEL_EXPORTER_OTLP_PROTOCOL=" + protocol, "OTEL_METRIC_EXPORT_INTERVAL=100",
			}})
			assert.Eventually(t, "metrics come at the interval", func() bool { return len(c.Metrics()) > 1 })
			harness.WantCode(t, "what does not fit", s.Input(harness.Input{"tokens": "many"}), http.StatusUnprocessableEntity)
			for _, input := range []harness.Input{{"tokens": 2}, {"how": "raise"}, {"tokens": 1}} { // any may leave the exemplar
				harness.WantCode(t, "a prediction", s.Create(map[string]any{"input": input}, "traceparent", sampled), http.StatusOK)
			}
			page := harness.Scrape(t, s)
			s.Stop() // which sends the last state
			sent := lastMetrics(c)
			assert.Contains(t, "the resource", fmt.Sprint(c.Metrics()[0].GetResource()), "service.instance.id")
			for name := range page {
				assert.True(t, sent[name] != nil, "%s was not sent", name)
			}
			for _, want := range []struct {
				name   string
				value  float64
				labels []string
			}{
				{"pinion_predictions_total", 2, []string{"sync", "succeeded"}},
				{"pinion_predictions_total", 1, []string{"sync", "failed", "model"}},
				{"pinion_predict_seconds", 3, nil},
				{"cog.runtime.prediction.count", 2, []string{"predict", "succeeded"}},
				{"cog.runtime.prediction.count", 1, []string{"predict", "failed"}},
				{"cog.runtime.prediction.duration", 2, []string{"predict", "succeeded"}},
				{"cog.runtime.prediction.rejected", 1, []string{"predict", "invalid_input"}},
				{"cog.runtime.prediction.active", 0, []string{"predict"}},
				{"cog.runtime.setup.duration", 1, []string{"succeeded"}},
				{"http.server.request.duration", 1, []string{"/predictions", "POST", "http"}},
			} {
				got := sentValue(sent[want.name], want.labels...)
				assert.True(t, got >= want.value && (got <= want.value || want.name[:4] == "http"),
					"%s %q is %v, want %v", want.name, want.labels, got, want.value)
			}
			if m := sent["pinion_predict_seconds"]; m.GetUnit() != "s" ||
				!strings.Contains(fmt.Sprint(exemplarTraces(m)), aClientsTrace) {
				t.Errorf("pinion_predict_seconds has the unit %q and exemplars of %q, want s and the client's trace", m.GetUnit(),
					exemplarTraces(m))
			}
		})
	}
}

// exemplarTraces are the traces of a histogram's exemplars.
func exemplarTraces(m *metricpb.Metric) (traces []string) {
	for _, p := range m.GetHistogram().GetDataPoints() {
		for _, e := range p.GetExemplars() {
			traces = append(traces, fmt.Sprintf("%x", e.GetTraceId()))
		}
	}
	return traces
}

// TestMetricsOtlp_Exemplars: the OpenMetrics page names sampled traces, and no others.
func TestMetricsOtlp_Exemplars(t *testing.T) {
	t.Parallel()
	c := harness.StartCollector(t)
	s := harness.Ready(t, harness.Options{
		Dir: meteredModel(t), Model: "metered.py:Runner", Env: []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL},
	})
	page := func() string {
		return string(s.Do(http.MethodGet, "/metrics", nil, "Accept", "application/openmetrics-text; version=1.0.0").Body)
	}
	unsampled := sampled[:len(sampled)-1] + "0"
	harness.WantCode(t, "an unsampled one", s.Create(map[string]any{"input": harness.Input{}}, "traceparent", unsampled),
		http.StatusOK)
	if text := page(); strings.Contains(text, "trace_id") {
		t.Errorf("there is an exemplar of an unsampled trace, want no \"trace_id\" in it:\n%s", text)
	}
	harness.WantCode(t, "a sampled one", s.Create(map[string]any{"input": harness.Input{}}, "traceparent", sampled),
		http.StatusOK)
	text := page()
	for _, name := range []string{
		"pinion_prediction_duration_seconds", "pinion_predict_seconds", "pinion_queue_seconds",
		"pinion_overhead_seconds",
	} {
		found := false
		for line := range strings.SplitSeq(text, "\n") {
			found = found || strings.HasPrefix(line, name+"_bucket") &&
				strings.Contains(line, `# {trace_id="`+aClientsTrace+`",span_id="`)
		}
		assert.True(t, found, "%s names no trace", name)
	}
	if plain := s.Do(http.MethodGet, "/metrics", nil); strings.Contains(string(plain.Body), "trace_id") {
		t.Errorf(`the text format has an exemplar: got %.300q, want no "trace_id" in it`, string(plain.Body))
	}
}

// TestMetricsOtlp_MetricsThatAreNotSent: the switches turn them off, and what a collector does not accept is counted.
func TestMetricsOtlp_MetricsThatAreNotSent(t *testing.T) {
	t.Parallel()
	dir := meteredModel(t)
	for _, off := range []string{"COG_METRICS_ENABLED=false", "OTEL_METRICS_EXPORTER=none", "OTEL_SDK_DISABLED=true"} {
		c := harness.StartCollector(t)
		s := harness.Ready(t, harness.Options{Dir: dir, Model: "metered.py:Runner", Env: []string{
			"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL, "OTEL_METRIC_EXPORT_INTERVAL=50", off,
		}})
		s.Succeed(harness.Input{"tokens": 1})
		s.Stop()
		assert.Equal(t, off+": metrics came", len(c.Metrics()), 0)
	}
	s := harness.Ready(t, harness.Options{Dir: dir, Model: "metered.py:Runner", Env: []string{
		"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=http://127.0.0.1:1/v1/metrics", "OTEL_METRIC_EXPORT_INTERVAL=50",
		"OTEL_METRIC_EXPORT_TIMEOUT=50",
	}})
	assert.Eventually(t, "drops are counted", func() bool {
		return harness.Scrape(t, s).Value("pinion_telemetry_dropped_total", "signal", "metrics") > 0
	})
	s.Succeed(harness.Input{"tokens": 1})
	if s.Stop(); s.Log.Count("telemetry is dropped: the collector does not accept it") != 1 {
		t.Error("want the log to say once that telemetry is dropped, got another number of lines")
	}
}
