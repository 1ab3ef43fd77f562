package harness

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"pinion/tests/assert"
)

// MetricFamilies are a server's metrics.
type MetricFamilies map[string]*dto.MetricFamily

// Scrape reads a server's metrics as Prometheus does.
func Scrape(t testing.TB, s *Server) MetricFamilies {
	t.Helper()
	a := s.Do(http.MethodGet, "/metrics", nil)
	if a.Code != http.StatusOK || !strings.HasPrefix(a.Header.Get("Content-Type"), "text/plain; version=0.0.4") {
		t.Fatalf(`GET /metrics: %s %s, want Code 200 and Content-Type starting with "text/plain; version=0.0.4"`,
			a.Header.Get("Content-Type"), a)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(a.Body))
	assert.NoError(t, err, "read the metrics", "in", a.Body)
	return families
}

// Value returns a sample: of a histogram or summary, how many there were. labels are pairs of names and values. A
// family without such a sample is 0.
func (f MetricFamilies) Value(name string, labels ...string) float64 {
	family := f[name]
	for _, m := range family.GetMetric() {
		if !labelled(m, labels) {
			continue
		}
		switch family.GetType() {
		case dto.MetricType_COUNTER:
			return m.GetCounter().GetValue()
		case dto.MetricType_HISTOGRAM:
			return float64(m.GetHistogram().GetSampleCount())
		case dto.MetricType_SUMMARY:
			return float64(m.GetSummary().GetSampleCount())
		default:
			return m.GetGauge().GetValue()
		}
	}
	return 0
}

// Sum returns the sum of a histogram without labels.
func (f MetricFamilies) Sum(name string) float64 {
	return f[name].GetMetric()[0].GetHistogram().GetSampleSum()
}

func labelled(m *dto.Metric, pairs []string) bool {
	has := map[string]string{}
	for _, l := range m.GetLabel() {
		has[l.GetName()] = l.GetValue()
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		if has[pairs[i]] != pairs[i+1] {
			return false
		}
	}
	return true
}

// Ends returns how many predictions of that mode ended with a status and a reason.
func (f MetricFamilies) Ends(mode, status, reason string) float64 {
	return f.Value("pinion_predictions_total", "mode", mode, "status", status, "reason", reason)
}
