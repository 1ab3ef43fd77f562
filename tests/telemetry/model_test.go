package telemetry

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// ownSpans are models that make their own spans, without a word about where they go.
const ownSpans = `import asyncio, contextvars, threading
from opentelemetry import trace
from cog import BasePredictor, ConcatenateIterator, current_scope

tracer = trace.get_tracer("model")


def trace_id() -> str:
    return format(trace.get_current_span().get_span_context().trace_id, "032x")


class Sync(BasePredictor):
    def predict(self) -> str:
        def threaded():
            with tracer.start_as_current_span("thread"):
                pass
        with tracer.start_as_current_span("work"):
            thread = threading.Thread(target=contextvars.copy_context().run, args=(threaded,))
            thread.start()
            thread.join()
        return trace_id()


class Items(BasePredictor):
    def predict(self) -> ConcatenateIterator[str]:
        for i in range(2):
            with tracer.start_as_current_span("work"):
                pass
            yield trace_id()


class Async(BasePredictor):
    async def predict(self) -> str:
        with tracer.start_as_current_span("work"):
            await asyncio.sleep(0.001)
        return trace_id()


class AsyncItems(BasePredictor):
    async def predict(self) -> ConcatenateIterator[str]:
        for i in range(2):
            with tracer.start_as_current_span("work"):
                await asyncio.sleep(0.001)
            yield trace_id()


def train(n: int = 1) -> str:
    with tracer.start_as_current_span("work"):
        return trace_id()
`

func telemetryPython(t *testing.T) string { return harness.Tool(t, "venvs/telemetry/bin/python") }

// TestModels_SpansAreChildren of their predictions' spans, in every form of model. Of an unsampled client nothing is
// sent. Predictions that follow without a context have their own traces.
func TestModels_SpansAreChildren(t *testing.T) {
	t.Parallel()
	python := telemetryPython(t)
	dir := harness.NewFolder(t, "run.py", ownSpans, "cog.yaml", "train: run.py:train\n")
	for _, c := range []struct {
		model, path string
		spans       int // of the model
	}{
		{"Sync", "/predictions", 2},
		{"Items", "/predictions", 2},
		{"Async", "/predictions", 1},
		{"AsyncItems", "/predictions", 2},
		{"Sync", "/trainings", 1},
		{"Async", "/trainings", 1},
	} {
		t.Run(c.model+c.path, func(t *testing.T) {
			t.Parallel()
			collector := harness.StartCollector(t)
			s := harness.Ready(t, harness.Options{Dir: dir, Model: "run.py:" + c.model, Python: python, Env: []string{
				"OTEL_EXPORTER_OTLP_ENDPOINT=" + collector.URL, "OTEL_BSP_SCHEDULE_DELAY=50",
			}})
			body := map[string]any{"input": map[string]any{}}
			for _, flag := range []string{"00", "01"} {
				a := s.Do(http.MethodPost, c.path, body, "traceparent", "00-"+harness.ClientTrace+"-"+harness.ClientParent+"-"+flag)
				assert.Contains(t, fmt.Sprintf("with the flag %s the model is in another trace", flag), string(a.Body),
					harness.ClientTrace)
			}
			if a := s.Do(http.MethodPost, c.path, body); strings.Contains(string(a.Body), harness.ClientTrace) {
				t.Errorf("a later prediction is in the trace of the one before, want its own: %s", a)
			}
			assert.Eventually(t, "the model's spans come", func() bool { return len(modelSpans(collector)) >= 2*c.spans })
			s.Stop()
			invoke, model := "", modelSpans(collector)
			for _, span := range collector.Spans() {
				if span.TraceID() == harness.ClientTrace && strings.HasSuffix(span.Name, ".invoke") {
					invoke = span.SpanID()
				}
			}
			mine := slices.DeleteFunc(slices.Clone(model),
				func(s *harness.Span) bool { return s.TraceID() != harness.ClientTrace })
			assert.EqualNow(t, "number of own metrics", len(mine), c.spans)
			assert.EqualNow(t, "number of model metrics", len(model), 2*c.spans)
			for _, span := range mine {
				assert.True(t, span.Name != "work" || span.ParentID() == invoke && span.Resource["cog.process.role"] == "worker",
					"%s is below %s, want %s; resource %v", span.Name, span.ParentID(), invoke, span.Resource)
			}
		})
	}
}

// modelSpans are the spans that the model made.
func modelSpans(c *harness.Collector) []*harness.Span {
	return slices.DeleteFunc(c.Spans(), func(s *harness.Span) bool { return s.Scope != "model" })
}

// TestModel_TelemetryHooks: a model's own telemetry.py makes the providers; what is wrong in it fails the setup.
func TestModel_TelemetryHooks(t *testing.T) {
	t.Parallel()
	python := telemetryPython(t)
	const good = `import os
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter


def create_tracer_provider(resource):
    provider = TracerProvider(resource=resource)
    provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter()))
    return provider


def configure_instrumentation():
    print("instrumented")
`
	collector := harness.StartCollector(t)
	start := func(t *testing.T, hooks string) *harness.Server {
		dir := harness.NewFolder(t, "run.py", ownSpans, "telemetry.py", hooks, "cog.yaml",
			"run: run.py:Sync\nobservability:\n  traces: true\n  config: telemetry.py\n")
		return harness.Start(t, harness.Options{Dir: dir, Python: python, Env: []string{
			"OTEL_EXPORTER_OTLP_ENDPOINT=" + collector.URL, "COG_TRACE_SAMPLER=always_on",
		}})
	}
	s := start(t, good)
	assert.Eventually(t, "it is ready", func() bool { return s.Health().Status == "READY" })
	s.Do(http.MethodPost, "/predictions", map[string]any{"input": map[string]any{}})
	assert.Contains(t, "the setup's logs", s.Health().Setup.Logs, "instrumented")
	if spans := modelSpans(collector); len(spans) != 2 || spans[0].Resource["cog.process.role"] != "worker" {
		t.Errorf(`the model's spans are %v, want len(spans) 2 and Resource["cog.process.role"] worker`, spans)
	}
	for _, c := range []struct{ hooks, want string }{
		{"x = 1\n", "it must define create_tracer_provider"},
		{"def create_tracer_provider():\n    return 3\n", "create_tracer_provider returned int"},
		{good + "create_meter_provider = 3\n", "create_meter_provider is not a function"},
		{"1 / 0\n", "ZeroDivisionError"},
	} {
		s := start(t, c.hooks)
		assert.Eventually(t, "the setup fails", func() bool { return s.Health().Status == "SETUP_FAILED" })
		assert.Contains(t, fmt.Sprintf("%q: the setup's logs", c.hooks), s.Health().Setup.Logs, c.want)
	}
}
