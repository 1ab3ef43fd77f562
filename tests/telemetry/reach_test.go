package telemetry

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

const filesModel = `from cog import BasePredictor, Path


class Predictor(BasePredictor):
    def predict(self, file: Path) -> Path:
        with open("/tmp/out.txt", "w") as out:
            out.write(open(file).read())
        return Path("/tmp/out.txt")
`

// transfer has a prediction download, upload and post its webhook, and returns the server's spans and, by method, the
// headers of these requests.
func transfer(t *testing.T, env []string, sent ...string) ([]*harness.Span, map[string]http.Header) {
	t.Helper()
	var mu sync.Mutex
	headers := map[string]http.Header{}
	peer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		headers[r.Method] = r.Header
		mu.Unlock()
		_, _ = io.WriteString(w, "content")
	}))
	defer peer.Close()
	dir := harness.NewFolder(t, "run.py", strings.ReplaceAll(filesModel, "/tmp/out.txt", t.TempDir()+"/out.txt"))
	c := harness.StartCollector(t)
	s := harness.Ready(t, harness.Options{
		Dir: dir, Model: "run.py:Predictor", Env: append(env, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL),
	})
	s.Do(http.MethodPost, "/predictions", map[string]any{
		"input": map[string]any{"file": peer.URL + "/in.txt"}, "output_file_prefix": peer.URL,
		"webhook": peer.URL, "webhook_events_filter": []string{"completed"},
	}, sent...)
	s.Stop()
	return c.Spans(), headers
}

// TestReach_TransfersAreTraced: webhooks carry the context of their spans; uploads and downloads have spans, and carry
// theirs only where that is asked for.
func TestReach_TransfersAreTraced(t *testing.T) {
	t.Parallel()
	for _, asked := range []string{"0", "1"} {
		env := []string{"PINION_TRACE_FILES=" + asked, "COG_TRACE_HEADER=X-Trace", "COG_TRACE_HEADER_FORMAT=jaeger"}
		spans, headers := transfer(t, env,
			"x-trace", harness.ClientTrace+":"+harness.ClientParent+":0:1", "tracestate", "a=b")
		byName := map[string]*harness.Span{}
		for _, span := range spans {
			byName[span.Name] = span
		}
		for name, method := range map[string]string{
			"pinion.webhook": "POST", "cog.prediction.upload_output": "PUT",
			"pinion.download": "GET",
		} {
			span := byName[name]
			assert.TrueNow(t, span != nil && span.TraceID() == harness.ClientTrace &&
				span.ParentID() == byName["cog.prediction"].SpanID() && span.Kind.String() == "SPAN_KIND_CLIENT",
				"%s is %v, of %v, want TraceID 0af7651916cd43dd8448eb211c80319c, ParentID %q and Kind SPAN_KIND_CLIENT", name, span,
				spans, byName["cog.prediction"].SpanID())
			want := ""
			if method == "POST" || asked == "1" {
				want = "00-" + harness.ClientTrace + "-" + span.SpanID() + "-01"
			}
			assert.Equal(t, fmt.Sprintf("PINION_TRACE_FILES=%s: %s has traceparent", asked, method),
				headers[method].Get("traceparent"), want)
		}
		assert.Equal(t, "the webhook has X-Trace", headers["POST"].Get("X-Trace"),
			harness.ClientTrace+":"+byName["pinion.webhook"].SpanID()+":0:01")
		if a := byName["cog.prediction.upload_output"].Attrs(); a["cog.output.bytes"] != int64(7) ||
			!strings.HasPrefix(a["cog.output.mime_type"].(string), "text/plain") {
			t.Errorf(`the upload has %v, want a["cog.output.bytes"] %d and a text starting with "text/plain"`, a, int64(7))
		}
	}
}

// TestPropagators_OfOtherTracers: Zipkin's and Jaeger's headers are read, and passed on to webhooks, downloads and
// uploads.
func TestPropagators_OfOtherTracers(t *testing.T) {
	t.Parallel()
	for propagator, c := range map[string]struct{ header, sent, want string }{
		"b3":      {"b3", harness.ClientTrace + "-" + harness.ClientParent + "-1", harness.ClientTrace + "-%s-1"},
		"b3multi": {"X-B3-SpanId", "", "%s"},
		"jaeger": {
			"uber-trace-id", harness.ClientTrace + ":" + harness.ClientParent + ":0:1",
			harness.ClientTrace + ":%s:0:01",
		},
		"tracecontext,baggage,b3": {
			"b3", harness.ClientTrace + "-" + harness.ClientParent + "-1",
			harness.ClientTrace + "-%s-1",
		},
	} {
		sent := []string{c.header, c.sent}
		if propagator == "b3multi" {
			sent = []string{"X-B3-TraceId", harness.ClientTrace, "X-B3-SpanId", harness.ClientParent, "X-B3-Sampled", "1"}
		}
		spans, headers := transfer(t, []string{"PINION_TRACE_FILES=1", "OTEL_PROPAGATORS=" + propagator}, sent...)
		for _, span := range spans {
			method := map[string]string{
				"pinion.webhook": "POST", "cog.prediction.upload_output": "PUT",
				"pinion.download": "GET",
			}[span.Name]
			if method == "" {
				continue
			}
			assert.Equal(t, propagator+": the trace of "+span.Name, span.TraceID(), harness.ClientTrace)
			assert.Equal(t, propagator+": what "+method+" carries", headers[method].Get(c.header),
				fmt.Sprintf(c.want, span.SpanID()))
			assert.Equal(t, propagator+": traceparent of "+method, headers[method].Get("traceparent") != "",
				strings.Contains(propagator, "tracecontext"))
		}
		assert.Equal(t, propagator+": requests", len(headers), 3)
	}
}

// TestTelemetry_VariablesOfPlatformDoNotStopStart: they are for all its programs. What is not understood is
// ignored, and said.
func TestTelemetry_VariablesOfPlatformDoNotStopStart(t *testing.T) {
	t.Parallel()
	variables := []string{
		"OTEL_PROPAGATORS=tracecontext,baggage,b3,xray", "OTEL_TRACES_EXPORTER=console", "OTEL_METRICS_EXPORTER=prometheus",
		"OTEL_LOGS_EXPORTER=otlp,console",
		"OTEL_TRACES_SAMPLER=parentbased_jaeger_remote", "OTEL_TRACES_SAMPLER_ARG=endpoint=http://localhost:14250",
		"OTEL_EXPORTER_OTLP_PROTOCOL=http/json",
		"OTEL_BSP_SCHEDULE_DELAY=5s", "OTEL_BSP_MAX_QUEUE_SIZE=many", "OTEL_EXPORTER_OTLP_COMPRESSION=zstd",
		"OTEL_EXPORTER_OTLP_HEADERS=secret",
		"OTEL_RESOURCE_ATTRIBUTES=a", "COG_TRACE_ENABLED=perhaps",
	}
	for _, more := range [][]string{
		nil,
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=collector:4318"},
	} {
		s := harness.Ready(t, harness.Options{
			Dir: harness.NewFolder(t, "run.py", "def run() -> int: return 1\n"),
			Env: append(append([]string{
				// Kubernetes' links to services with these names.
				"PINION_PORT=tcp://10.0.0.1:80", "PINION_GRPC_PORT=tcp://10.0.0.1:80", "PINION_METRICS_PORT=tcp://10.0.0.1:80",
				"PINION_METRICS_SERVICE_HOST=10.0.0.1",
			}, variables...), more...),
		})
		for _, v := range append(variables, more...) {
			name, _, _ := strings.Cut(v, "=")
			if name == "OTEL_EXPORTER_OTLP_ENDPOINT" && strings.Contains(v, "http:") {
				continue
			}
			assert.Contains(t, "warning of "+name, s.Log.String(), name+": ")
		}
		assert.False(t, strings.Contains(s.Log.String(), "secret"),
			`the log has a header's value: got %.300q, want no "secret" in it`, s.Log.String())
	}
}

// TestTelemetry_VariablesThatModelsSDKRefuses: the SDK in the model's environment raises where Pinion warns.
func TestTelemetry_VariablesThatModelsSDKRefuses(t *testing.T) {
	t.Parallel()
	python := telemetryPython(t)
	for _, variable := range []string{"OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT=-1", "OTEL_PYTHON_TRACER_PROVIDER=absent"} {
		s := harness.Ready(t, harness.Options{
			Dir: harness.NewFolder(t, "run.py", "def run() -> int: return 1\n"), Python: python,
			Env: []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", variable},
		})
		s.Succeed(harness.Input{})
		assert.Contains(t, variable, s.Log.String(), "the model's spans are not sent: ")
	}
}

// TestReach_SetupsAreTraced: each in its own trace, with the model's own spans; a failed one says why.
func TestReach_SetupsAreTraced(t *testing.T) {
	t.Parallel()
	python := telemetryPython(t)
	const model = `from opentelemetry import trace
from cog import BasePredictor


class Predictor(BasePredictor):
    def setup(self):
        with trace.get_tracer("model").start_as_current_span("load"):
            BODY

    def predict(self) -> str:
        return ""
`
	for _, body := range []string{"pass", `raise ValueError("no weights")`} {
		c := harness.StartCollector(t)
		dir := harness.NewFolder(t, "run.py", strings.ReplaceAll(model, "BODY", body))
		s := harness.Start(t, harness.Options{
			Dir: dir, Model: "run.py:Predictor", Python: python, Env: []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL},
		})
		assert.Eventually(t, "the setup ends", func() bool { return s.Health().Status != "STARTING" })
		s.Stop()
		byName := map[string]*harness.Span{}
		for _, span := range c.Spans() {
			byName[span.Name] = span
		}
		setup, predictor, load := byName["cog.setup"], byName["cog.setup.predictor"], byName["load"]
		if setup == nil || predictor == nil || setup.ParentID() != "" || predictor.ParentID() != setup.SpanID() {
			t.Fatalf("the spans are %v, want setup.ParentID() empty and predictor.ParentID() %q", c.Spans(), setup.SpanID())
		}
		if body == "pass" {
			assert.True(t, load != nil && load.ParentID() == predictor.SpanID(),
				"the model's span is %v, want ParentID %q", load, predictor.SpanID())
		} else if setup.Status.GetMessage() != "ValueError: no weights" || setup.Attrs()["error.type"] != "setup_failed" {
			t.Errorf("the failed setup has %v %v, want the error of the model, of type setup_failed", setup.Status,
				setup.Attrs())
		}
	}
}

// TestReach_HangingCollectorDelaysNothing: neither a prediction nor, beyond a second, the stop.
func TestReach_HangingCollectorDelaysNothing(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0") // the kernel accepts, and no process reads
	assert.NoError(t, err)
	defer ln.Close()
	s := harness.Ready(t, harness.Options{Model: "echo.py", Env: []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + ln.Addr().String(), "OTEL_BSP_MAX_QUEUE_SIZE=8", "OTEL_BSP_SCHEDULE_DELAY=1",
	}})
	for range 20 { // more spans than wait
		harness.WantCode(t, "prediction", s.Do(http.MethodPost, "/predictions", map[string]any{"input": map[string]any{}}),
			200)
	}
	s.WaitLog("telemetry is dropped: the collector does not accept it")
	began := time.Now()
	s.Signal(syscall.SIGTERM)
	s.Ended(0)
	if took := time.Since(began); took > 5*time.Second { // an attempt to send takes 10 s
		t.Errorf("the stop took %s, want at most %v", took, 5*time.Second)
	}
}

// TestReach_WebPageIsNoCollector: what a server that is none answers with 200 and a page is dropped, and counted for
// each signal.
func TestReach_WebPageIsNoCollector(t *testing.T) {
	t.Parallel()
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, "<!doctype html><title>welcome</title>")
	}))
	defer page.Close()
	for _, compression := range []string{"none", "gzip"} {
		s := harness.Ready(t, harness.Options{Model: "echo.py", Env: []string{
			"OTEL_EXPORTER_OTLP_ENDPOINT=" + page.URL, "OTEL_EXPORTER_OTLP_COMPRESSION=" + compression,
			"OTEL_BSP_SCHEDULE_DELAY=1", "OTEL_BLRP_SCHEDULE_DELAY=1", "OTEL_METRIC_EXPORT_INTERVAL=100",
		}})
		harness.WantCode(t, "prediction", s.Do(http.MethodPost, "/predictions", map[string]any{"input": map[string]any{}}),
			200)
		for _, signal := range []string{"traces", "metrics", "logs"} {
			dropped := regexp.MustCompile(`(?m)^pinion_telemetry_dropped_total\{signal="` + signal + `"\} [1-9]`)
			assert.Eventually(t, signal+" are counted",
				func() bool { return dropped.Match(s.Do(http.MethodGet, "/metrics", nil).Body) })
		}
		s.Stop()
	}
}

// TestReach_CallersAreBounded: of a client's context, entries that begin with "trace." become attributes of the
// prediction's span alone, up to the bounds of their number, names and values. A training has none. The model has the
// whole context.
func TestReach_CallersAreBounded(t *testing.T) {
	t.Parallel()
	dir := harness.NewFolder(t,
		"run.py", "from cog import current_scope\n\n\ndef run() -> int:\n    return len(current_scope().context)\n\n\ndef train() -> str:\n    return ''\n",
		"cog.yaml", "train: run.py:train\n")
	c := harness.StartCollector(t)
	s := harness.Ready(t, harness.Options{
		Dir: dir, Model: "run.py:run", Env: []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL},
	})
	context := manyCallers()
	body := map[string]any{"input": map[string]any{}, "context": context}
	if a := s.Do(http.MethodPost, "/predictions", body); outputOf(t, a) != float64(len(context)+1) { // and traceparent
		t.Errorf("the model's context has %s entries, want %d", a, len(context)+1)
	}
	harness.WantCode(t, "training", s.Do(http.MethodPost, "/trainings", body), 200)
	twice := `{"input": {}, "context": {"trace.user": "ann", "trace.user": "bob"}}`
	harness.WantCode(t, "a name twice", s.Do(http.MethodPost, "/predictions", json.RawMessage(twice)), 200)
	s.Stop()
	want := map[string]any{
		"Aa-_.9": "each character", strings.Repeat("a", 64): "the longest name", "ab": strings.Repeat("v", 128),
		"ac": strings.Repeat("v", 128), "ad": strings.Repeat("v", 127), "ae": "",
	}
	for i := range 10 { // 16 in all
		want[fmt.Sprintf("b%02d", i)] = strings.Repeat("w", 128)
	}
	var found []map[string]any
	for _, span := range c.Spans() {
		of := map[string]any{}
		for _, a := range span.Attributes {
			if name, is := strings.CutPrefix(a.Key, "caller."); is {
				if _, has := of[name]; has {
					t.Errorf("%s has %s twice", span.Name, a.Key)
				}
				of[name] = a.Value.GetStringValue()
			}
		}
		switch {
		case span.Name == "cog.prediction":
			found = append(found, of)
		case len(of) > 0:
			t.Errorf("%s has the attributes %v", span.Name, of)
		}
	}
	assert.TrueNow(t, len(found) == 2 && reflect.DeepEqual(found[0], want),
		"the predictions have %v, want %v", found, want)
	assert.True(t, reflect.DeepEqual(found[1], map[string]any{"user": "bob"}),
		"of a name that is there twice the prediction has %v, want %v", found[1], map[string]any{"user": "bob"})
}
