package telemetry

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/otlptranslator"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"pinion/runtime/memory"
	"pinion/runtime/metrics"
	"pinion/runtime/predict"
	"pinion/runtime/trace"
	"pinion/tests/assert"
)

// used returns a set in which each family has samples.
func used() *metrics.Set {
	s := metrics.New(metrics.Options{
		Version: "1", Model: func() (string, string) { return "3.13.0", "0.23" },
		Load:      func() metrics.Load { return metrics.Load{InFlight: 7, Queued: 3, Capacity: 8, Slots: 6} },
		Trainings: func() int { return 2 },
		Workers: func() []metrics.Worker {
			return []metrics.Worker{{State: "ready", PID: 1, Setup: time.Second}, {State: "gone"}}
		},
		DroppedLogs:      func() (uint64, uint64) { return 1, 2 },
		DroppedTelemetry: func() map[string]uint64 { return map[string]uint64{"traces": 5} },
		Memory:           func() memory.Stats { return memory.Stats{Used: 1, Limit: 2} },
		GPUs: func() []metrics.GPU {
			return []metrics.GPU{{Name: "0", MemoryUsed: 1, MemoryTotal: 2, Utilization: 0.5}}
		},
		SetsAside: true,
	})
	in := &trace.Context{Trace: trace.ID{1}, Span: trace.SpanID{2}, Sampled: true}
	for _, status := range []predict.Status{predict.Succeeded, predict.Succeeded, predict.Canceled} {
		s.Ended(predict.End{
			Status: status, Times: predict.Times{Total: time.Second, Predict: time.Second}, Trace: in,
			Metrics: []byte(`{"tokens":3}`),
		})
	}
	s.Ended(predict.End{
		Kind: predict.KindTraining, Status: predict.Failed, Reason: predict.ReasonModel,
		Times: predict.Times{Total: time.Hour},
	})
	for _, reason := range []string{
		predict.ReasonValidation, predict.ReasonUnavailable, predict.ReasonMemory,
		predict.ReasonCapacity,
	} {
		s.Refused(predict.KindPrediction, predict.Sync, reason)
	}
	s.Request("/predictions", "POST", 200, time.Millisecond)
	s.Request("", "BREW", 503, time.Millisecond)
	s.FirstOutput(time.Second, in)
	s.NextOutput(time.Millisecond)
	s.Batch(4, time.Millisecond)
	s.SetupEnded(2*time.Second, false)
	s.SetupEnded(time.Second, true)
	return s
}

func produce(t *testing.T, s *metrics.Set) map[string]metricdata.Metrics {
	t.Helper()
	scopes, err := producer{set: s}.Produce(t.Context())
	assert.TrueNow(t, err == nil && len(scopes) == 1, "%d scopes, %v, want 1", len(scopes), err)
	byName := map[string]metricdata.Metrics{}
	for _, m := range scopes[0].Metrics {
		_, twice := byName[m.Name]
		assert.False(t, twice, "%s is there twice", m.Name)
		byName[m.Name] = m
	}
	return byName
}

// typeOf returns the type that Prometheus makes of a metric.
func typeOf(m metricdata.Metrics) (otlptranslator.MetricType, dto.MetricType) {
	switch data := m.Data.(type) {
	case metricdata.Sum[float64]:
		if data.IsMonotonic {
			return otlptranslator.MetricTypeMonotonicCounter, dto.MetricType_COUNTER
		}
		return otlptranslator.MetricTypeNonMonotonicCounter, dto.MetricType_GAUGE
	case metricdata.Histogram[float64]:
		return otlptranslator.MetricTypeHistogram, dto.MetricType_HISTOGRAM
	case metricdata.Summary:
		return otlptranslator.MetricTypeSummary, dto.MetricType_SUMMARY
	default:
		return otlptranslator.MetricTypeGauge, dto.MetricType_GAUGE
	}
}

// TestProducer_AllOfPageIsSent: Prometheus gives each metric that comes by OTLP the name, type and labels that the page
// has.
func TestProducer_AllOfPageIsSent(t *testing.T) {
	s := used()
	produced := produce(t, s)
	_, text := s.Write("")
	parser := expfmt.NewTextParser(model.UTF8Validation)
	page := assert.Must(parser.TextToMetricFamilies(bytes.NewReader(text)))(t)
	namer := otlptranslator.MetricNamer{WithMetricSuffixes: true}
	sent := map[string]metricdata.Metrics{}
	for name, m := range produced {
		kind, prometheus := typeOf(m)
		translated := assert.Must(namer.Build(otlptranslator.Metric{Name: name, Unit: m.Unit, Type: kind}))(t)
		sent[translated] = m
		if strings.HasPrefix(name, "cog.runtime.") || strings.HasPrefix(name, "http.") {
			continue
		}
		if family := page[translated]; family == nil || family.GetType() != prometheus {
			t.Errorf("%s becomes %s, a %s, which is %v on the page, want the same", name, translated, prometheus,
				family.GetType())
		}
	}
	for name, family := range page {
		if m, ok := sent[name]; !ok {
			t.Errorf("%s is not sent", name)
		} else if got, want := len(attributesOf(m)), len(family.GetMetric()); got != want {
			t.Errorf("%s: %d data points, and %d on the page, want the same", name, got, want)
		}
	}
	for _, want := range []string{"cog_runtime_prediction_duration_seconds", "http_server_request_duration_seconds"} {
		_, ok := sent[want]
		assert.True(t, ok, "%s is not sent", want)
	}
}

// attributesOf returns the attributes of each data point, as text.
func attributesOf(m metricdata.Metrics) (list []string) {
	text := func(set attribute.Set) string { return set.Encoded(attribute.DefaultEncoder()) }
	switch data := m.Data.(type) {
	case metricdata.Sum[float64]:
		for _, p := range data.DataPoints {
			list = append(list, fmt.Sprintf("%s %v", text(p.Attributes), p.Value))
		}
	case metricdata.Gauge[float64]:
		for _, p := range data.DataPoints {
			list = append(list, fmt.Sprintf("%s %v", text(p.Attributes), p.Value))
		}
	case metricdata.Histogram[float64]:
		for _, p := range data.DataPoints {
			list = append(list, fmt.Sprintf("%s %v", text(p.Attributes), p.Count))
		}
	case metricdata.Summary:
		for _, p := range data.DataPoints {
			list = append(list, fmt.Sprintf("%s %v", text(p.Attributes), p.Count))
		}
	}
	slices.Sort(list)
	return list
}

func TestProducer_NamesOfOpenTelemetryAndCog(t *testing.T) {
	sent := produce(t, used())
	for _, want := range []struct {
		name, unit string
		points     []string
	}{
		{"cog.runtime.prediction.count", "{prediction}", []string{
			"operation=predict,status=canceled 1", "operation=predict,status=failed 0", "operation=predict,status=succeeded 2",
			"operation=train,status=canceled 0", "operation=train,status=failed 1", "operation=train,status=succeeded 0",
		}},
		{"cog.runtime.prediction.rejected", "{prediction}", []string{
			"operation=predict,reason=at_capacity 2", "operation=predict,reason=invalid_input 1",
			"operation=predict,reason=not_ready 1",
			"operation=train,reason=at_capacity 0", "operation=train,reason=invalid_input 0",
			"operation=train,reason=not_ready 0",
		}},
		{"cog.runtime.prediction.active", "{prediction}", []string{"operation=predict 5", "operation=train 2"}},
		{"cog.runtime.prediction.duration", "s", []string{
			"operation=predict,status=canceled 1", "operation=predict,status=failed 0", "operation=predict,status=succeeded 2",
			"operation=train,status=canceled 0", "operation=train,status=failed 1", "operation=train,status=succeeded 0",
		}},
		{"cog.runtime.setup.duration", "s", []string{"status=failed 1", "status=succeeded 1"}},
		{"cog.runtime.slot.count", "{slot}", []string{"state=available 2", "state=busy 4", "state=poisoned 1"}},
		{"http.server.request.duration", "s", []string{
			"error.type=503,http.request.method=_OTHER,http.response.status_code=503,url.scheme=http 1",
			"http.request.method=POST,http.response.status_code=200,http.route=/predictions,url.scheme=http 1",
		}},
	} {
		m := sent[want.name]
		if got := attributesOf(m); m.Unit != want.unit || !slices.Equal(got, want.points) {
			t.Errorf("%s, unit %q:\n got %q\nwant %q, unit %q", want.name, m.Unit, got, want.points, want.unit)
		}
	}
	for name, up := range map[string]bool{
		"cog.runtime.prediction.count": true, "cog.runtime.prediction.active": false,
	} {
		if sum, ok := sent[name].Data.(metricdata.Sum[float64]); !ok || sum.IsMonotonic != up ||
			sum.Temporality != metricdata.CumulativeTemporality {
			t.Errorf("%s is %T, %+v, want ok true, IsMonotonic %t and Temporality %v", name, sent[name].Data, sum, up,
				metricdata.CumulativeTemporality)
		}
	}
	if _, ok := sent["cog.runtime.slot.count"].Data.(metricdata.Gauge[float64]); !ok {
		t.Errorf("cog.runtime.slot.count is %T, want a gauge", sent["cog.runtime.slot.count"].Data)
	}
	for _, p := range sent["http.server.request.duration"].Data.(metricdata.Histogram[float64]).DataPoints {
		code, ok := p.Attributes.Value(metrics.StatusCode)
		assert.True(t, ok && code.Type() == attribute.INT64, "the status code is %v, want ok true and Type %v", code, attribute.INT64)
	}
}

func TestProducer_ExemplarsNameTheirTrace(t *testing.T) {
	sent := produce(t, used())
	for _, name := range []string{
		"pinion_predict_seconds", "pinion_time_to_first_output_seconds",
		"cog.runtime.prediction.duration",
	} {
		data := sent[name].Data.(metricdata.Histogram[float64])
		found := 0
		for _, p := range data.DataPoints {
			for _, e := range p.Exemplars {
				found++
				assert.True(t, e.Value == 1 && e.TraceID[0] == 1 && e.SpanID[0] == 2 && !e.Time.IsZero(),
					"%s has the exemplar %+v, want Value 1, TraceID[0] 1, SpanID[0] 2 and Time non-zero", name, e)
			}
		}
		assert.True(t, found != 0, "%s has no exemplar: got %d, want anything but 0", name, found)
	}
}
