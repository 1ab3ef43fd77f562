package telemetry

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

func TestObservability_PrometheusTakesConfigurationAndAlerts(t *testing.T) {
	t.Parallel()
	harness.Promtool(t, nil, "check", "config", "prometheus.yaml")
	harness.Promtool(t, nil, "check", "rules", "alerts.yaml")
	harness.Promtool(t, nil, "test", "rules", "alerts_test.yaml")
}

func TestObservability_PrometheusTakesMetrics(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Dir: meteredModel(t), Model: "metered.py:Runner"})
	s.Succeed(harness.Input{"tokens": 1})
	harness.Promtool(t, s.Do(http.MethodGet, "/metrics", nil).Body, "check", "metrics")
}

// alert is a rule of alerts.yaml.
type alert struct {
	Alert string
	Expr  string
}

func readAlerts(t *testing.T) (alerts []alert) {
	t.Helper()
	text := harness.ReadFile(t, filepath.Join(harness.ObservabilityFolder, "alerts.yaml"))
	var file struct {
		Groups []struct{ Rules []alert }
	}
	assert.NoError(t, yaml.Unmarshal([]byte(text), &file))
	for _, g := range file.Groups {
		alerts = append(alerts, g.Rules...)
	}
	return alerts
}

// TestObservability_AlertsAskForWhatIsServed: each name and label in an alert is one that the server has.
func TestObservability_AlertsAskForWhatIsServed(t *testing.T) {
	t.Parallel()
	_, labels := servedMetrics(t)
	for _, a := range readAlerts(t) {
		var known []string
		names := metricName.FindAllString(quoted.ReplaceAllString(a.Expr, `""`), -1)
		for _, name := range names {
			family := familyOf(labels, name)
			assert.True(t, family != "", `%s: there is no metric %s: got "", want some text`, a.Alert, name)
			known = append(known, labels[family]...)
		}
		assert.True(t, len(names) != 0 || strings.HasPrefix(a.Expr, "up{"),
			`%s asks for no metric: %s, want it to start with "up{"`, a.Alert, a.Expr)
		for _, label := range labelsUsed(a.Expr, "") {
			assert.True(t, slices.Contains(known, label) || slices.Contains(added, label),
				"%s: none of its metrics has a label %s, want it there", a.Alert, label)
		}
	}
}

// TestObservability_EachAlertIsTestedAndExplained: it fires in alerts_test.yaml and is quiet there before, and the
// document says what to do.
func TestObservability_EachAlertIsTestedAndExplained(t *testing.T) {
	t.Parallel()
	tested := harness.ReadFile(t, filepath.Join(harness.ObservabilityFolder, "alerts_test.yaml"))
	page := harness.ReadFile(t, "../docs/how-to/monitoring.md")
	alerts := readAlerts(t)
	assert.True(t, len(alerts) >= 8, "%d alerts, want at least 8", len(alerts))
	for _, a := range alerts {
		for _, want := range []string{
			"alertname: " + a.Alert + ", exp_alerts: []",
			"alertname: " + a.Alert + "\n        exp_alerts:\n          - exp_labels",
		} {
			assert.Contains(t, "alerts_test.yaml", tested, want)
		}
		assert.Contains(t, "docs/how-to/monitoring.md does not say what to do about "+a.Alert, page, "| `"+a.Alert+"` |")
	}
}

// TestObservability_Stack: what the services of the compose file mount exists, and addresses name services.
func TestObservability_Stack(t *testing.T) {
	t.Parallel()
	text := harness.ReadFile(t, filepath.Join(harness.ObservabilityFolder, "compose.yaml"))
	file := harness.ReadManifests(t, filepath.Join(harness.ObservabilityFolder, "compose.yaml"))[0]
	services, ok := file.At(t, "services").(map[string]any)
	assert.TrueNow(t, ok && len(services) == 5, "the services are %v, want ok true and len(services) 5", services)
	mounts := regexp.MustCompile(`- (\./[^:]+):`).FindAllStringSubmatch(text, -1)
	assert.Equal(t, "files and folders are mounted", len(mounts), 5)
	for _, m := range mounts {
		if _, err := os.Stat(filepath.Join("../deploy", m[1])); err != nil {
			t.Error(err)
		}
	}
	texts := text
	for _, name := range []string{
		"collector.yaml", "prometheus.yaml",
		"grafana/provisioning/datasources/datasources.yaml",
	} {
		texts += harness.ReadFile(t, filepath.Join(harness.ObservabilityFolder, name))
	}
	for _, m := range regexp.MustCompile(`http://([a-z]+):\d+`).FindAllStringSubmatch(texts, -1) {
		if _, known := services[m[1]]; !known && m[1] != "localhost" {
			t.Errorf("there is no service %s: got %q, want localhost", m[0], m[1])
		}
	}
	module := harness.ReadFile(t, "collector/go.mod")
	image := file.Text(t, "services", "collector", "image")
	_, version, _ := strings.Cut(image, ":")
	assert.True(t, strings.Contains(module, "go.opentelemetry.io/collector/otelcol v"+version+"\n"),
		"the tests' collector is not of the version of %s: got %.300q, want it to contain %q", image, module,
		"go.opentelemetry.io/collector/otelcol v"+version+"\n")
	if dashboards := harness.ReadManifests(t,
		filepath.Join(harness.ObservabilityFolder, "grafana/provisioning/dashboards/dashboards.yaml"))[0]; !strings.Contains(
		text,
		":"+dashboards.Text(t, "providers", 0, "options", "path")+":ro") {
		t.Error("the dashboards are mounted elsewhere, want them where Grafana looks")
	}
}
