package telemetry

import (
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// tracedSeveral says which model it is, waits for a file if it is asked to, and makes a span in each function.
const tracedSeveral = `import os, time
from cog import BaseRunner
from opentelemetry import trace

tracer = trace.get_tracer("model")


class Runner(BaseRunner):
    def setup(self) -> None:
        with tracer.start_as_current_span("load"):
            pass

    def run(self, gate: str = "") -> str:
        model = os.path.basename(os.getcwd())
        with tracer.start_as_current_span("work"):
            print("a line of", model, flush=True)
            while gate and not os.path.exists(gate):
                time.sleep(0.01)
        return model


def train(n: int = 1) -> str:
    return str(n)
`

// telemetryFolders makes folders of models whose Python has the SDK of OpenTelemetry. It returns their arguments.
func telemetryFolders(t *testing.T, of map[string]map[string]string) (dir string, arguments []string) {
	t.Helper()
	environment := filepath.Dir(filepath.Dir(telemetryPython(t)))
	dir = t.TempDir()
	for name, files := range of {
		harness.WriteFile(t, filepath.Join(dir, name, "run.py"), tracedSeveral)
		for file, text := range files {
			harness.WriteFile(t, filepath.Join(dir, name, file), text)
		}
		arguments = append(arguments, name+"="+name)
		assert.NoError(t, os.Symlink(environment, filepath.Join(dir, name, ".venv")))
	}
	slices.Sort(arguments)
	return dir, arguments
}

// TestSeveralTelemetry_TelemetryNamesModel: of several models each has its name in its spans, metrics and lines of the
// log. A line is in the trace of its own model's prediction, if predictions of two models have the same id.
func TestSeveralTelemetry_TelemetryNamesModel(t *testing.T) {
	t.Parallel()
	dir, models := telemetryFolders(t,
		map[string]map[string]string{"a": nil, "b": {"cog.yaml": "run: run.py:Runner\ntrain: run.py:train\n"}})
	c := harness.StartCollector(t)
	s := harness.Start(t, harness.Options{Dir: dir, Models: models, Env: []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL, "OTEL_METRIC_EXPORT_INTERVAL=100", "OTEL_BSP_SCHEDULE_DELAY=50",
	}})
	harness.WaitModels(t, s)
	gate := filepath.Join(dir, "gate")
	const otherTrace = "1af7651916cd43dd8448eb211c80319c"
	header := func(trace string) string { return "00-" + trace + "-" + harness.ClientParent + "-01" }
	harness.WantCode(t, "the one of a",
		s.Do(http.MethodPut, "/predictions/same", map[string]any{"input": harness.Input{"gate": gate}},
			"traceparent", header(harness.ClientTrace), "Prefer", "respond-async"), http.StatusAccepted)
	s.WaitLog("a line of a")
	harness.WantCode(t, "the one of b",
		s.Do(http.MethodPut, "/models/b/predictions/same", map[string]any{"input": harness.Input{}},
			"traceparent", header(otherTrace)), http.StatusOK)
	assert.Contains(t, "the line", s.WaitLog("a line of b").Raw, `"trace_id":"`+otherTrace+`"`)
	page := string(s.Do(http.MethodGet, "/metrics", nil, "Accept", "application/openmetrics-text; version=1.0.0").Body)
	harness.WriteFile(t, gate, "")
	assert.Eventually(t, "the prediction of a ends",
		func() bool { return s.Do(http.MethodGet, "/predictions/same", nil).Status == "succeeded" })
	harness.WantCode(t, "a training",
		s.Do(http.MethodPost, "/models/b/trainings", map[string]any{"input": harness.Input{}}), http.StatusOK)
	harness.WantCode(t, "an invalid input",
		s.Do(http.MethodPost, "/models/b/predictions", map[string]any{"input": harness.Input{"gate": 3}}),
		http.StatusUnprocessableEntity)
	assert.Eventually(t, "the models' spans come", func() bool { return len(modelSpans(c)) == 4 }) // two of setups
	s.Stop()

	exemplar := false
	for line := range strings.SplitSeq(page, "\n") {
		exemplar = exemplar || strings.HasPrefix(line, "pinion_predict_seconds_bucket{") &&
			strings.Contains(line, `model="b"`) && strings.Contains(line, otherTrace)
	}
	assert.True(t, exemplar, "no exemplar of b is in its trace: %s", page)
	checkSpansOfModels(t, c, map[string]string{harness.ClientTrace: "a", otherTrace: "b"})
	for _, l := range c.Logs() {
		want := map[string]string{"a line of a": harness.ClientTrace, "a line of b": otherTrace}[l.Body.GetStringValue()]
		if model, _ := strings.CutPrefix(l.Body.GetStringValue(), "a line of "); want != "" &&
			(hex.EncodeToString(l.TraceId) != want || harness.Attributes(l.Attributes)["model"] != model) {
			t.Errorf("the record %q is in trace %x and has %v, want trace %s and model %s", l.Body.GetStringValue(), l.TraceId,
				harness.Attributes(l.Attributes), want, model)
		}
	}
	sent := lastMetrics(c)
	for _, want := range []struct {
		name   string
		value  float64
		labels []string
	}{
		{"cog.runtime.prediction.count", 1, []string{"a", "predict", "succeeded"}},
		{"cog.runtime.prediction.count", 1, []string{"b", "train", "succeeded"}},
		{"cog.runtime.prediction.rejected", 1, []string{"b", "invalid_input"}},
		{"cog.runtime.setup.duration", 1, []string{"b", "succeeded"}},
		{"pinion_predict_seconds", 1, []string{"b"}},
	} {
		assert.Equal(t, fmt.Sprintf("%s %q", want.name, want.labels), sentValue(sent[want.name], want.labels...), want.value)
	}
}

// checkSpansOfModels: spans of a client's trace name its model, as those of setups and all predictions do.
func checkSpansOfModels(t *testing.T, c *harness.Collector, byTrace map[string]string) {
	t.Helper()
	seen := map[string]int{}
	for _, span := range c.Spans() {
		model, _ := span.Attrs()["pinion.model"].(string)
		switch span.Name {
		case "cog.prediction", "cog.prediction.execute", "cog.prediction.invoke", "cog.train", "cog.train.invoke",
			"cog.setup", "cog.setup.predictor":
			seen[span.Name+" "+model]++
		}
		if want := byTrace[span.TraceID()]; span.Name == "cog.prediction" && want != "" && want != model {
			t.Errorf("the prediction of %s is of the model %q, want empty or %q", want, model, model)
		}
	}
	for name, want := range map[string]int{
		"cog.prediction a": 1, "cog.prediction b": 2, "cog.prediction.execute b": 1, "cog.prediction.invoke a": 1,
		"cog.train b": 1, "cog.train.invoke b": 1,
		"cog.setup a": 1, "cog.setup b": 1, "cog.setup.predictor a": 1, "cog.setup.predictor b": 1,
	} {
		assert.Equal(t, fmt.Sprintf("%s, of %v", name, seen), seen[name], want)
	}
}

// TestSeveralTelemetry_TelemetryHooksAreModelsOwn: each model has the hooks of its own folder, or none. A model that is
// loaded by its first request has them too, and a trace of its setup.
func TestSeveralTelemetry_TelemetryHooksAreModelsOwn(t *testing.T) {
	t.Parallel()
	const hooks = `from opentelemetry.sdk.trace import TracerProvider


def create_tracer_provider():
    print("the hooks of NAME")
    return TracerProvider()
`
	with := func(name string) map[string]string {
		return map[string]string{
			"cog.yaml":         "run: run.py:Runner\nobservability: {traces: true, config: " + name + "_hooks.py}\n",
			name + "_hooks.py": strings.ReplaceAll(hooks, "NAME", name),
		}
	}
	dir, _ := telemetryFolders(t, map[string]map[string]string{"a": with("a"), "b": nil, "c": with("c")})
	config := "models:\n  a: {path: a}\n  b: {path: b}\n  c: {path: c, load: on-demand}\n"
	harness.WriteFile(t, filepath.Join(dir, "pinion.yaml"), config)
	c := harness.StartCollector(t)
	s := harness.Start(t, harness.Options{Dir: dir, Models: []string{"--config", "pinion.yaml"}, Env: []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL, "OTEL_TRACES_SAMPLER=always_on",
	}})
	harness.WaitModels(t, s)
	for _, model := range []string{"a", "b", "c"} {
		harness.WantOutput(t, model+" answers", harness.PredictBy(s, model, harness.Input{}), model)
		var health struct{ Setup struct{ Logs string } }
		harness.Decode(t, s.Do(http.MethodGet, "/models/"+model+"/health-check", nil), &health)
		if want := "the hooks of " + model; strings.Contains(health.Setup.Logs, "the hooks of") != (model != "b") ||
			model != "b" && !strings.Contains(health.Setup.Logs, want) {
			t.Errorf("the setup of %s logs %q, want Contains %t and Logs with %q", model, health.Setup.Logs, model != "b", want)
		}
	}
	s.Stop()
	setups := map[any]int{}
	for _, span := range c.Spans() {
		if span.Name == "cog.setup" {
			setups[span.Attrs()["pinion.model"]]++
		}
	}
	assert.True(t, setups["a"] == 1 && setups["b"] == 1 && setups["c"] == 1,
		`the traces of setups are %v, want setups["a"] 1, setups["b"] 1 and setups["c"] 1`, setups)
}
