package telemetry

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// cogModels are served by Cog's server and by ours. Their setup ends when the file GATE is there.
const cogModels = `import asyncio, os, tempfile, time
from cog import BasePredictor, ConcatenateIterator, Path, streaming
from opentelemetry import trace

tracer = trace.get_tracer("model")


def hangs(hang: bool) -> bool:
    if hang:
        open(os.environ["GATE"] + ".hangs", "w").close()
    return hang


class Gated(BasePredictor):
    def setup(self):
        with tracer.start_as_current_span("load"):
            while not os.path.exists(os.environ["GATE"]):
                time.sleep(0.01)


class Sync(Gated):
    def predict(self, text: str = "x", fail: bool = False, hang: bool = False) -> str:
        with tracer.start_as_current_span("work"):
            while hangs(hang):
                time.sleep(0.01)
            if fail:
                raise ValueError("no such voice")
        return text


class Async(Gated):
    async def predict(self, text: str = "x", fail: bool = False, hang: bool = False) -> str:
        with tracer.start_as_current_span("work"):
            while hangs(hang):
                await asyncio.sleep(0.01)
            if fail:
                raise ValueError("no such voice")
        return text


class Items(Gated):
    def predict(self, text: str = "x", fail: bool = False, hang: bool = False) -> ConcatenateIterator[str]:
        for _ in range(2):
            with tracer.start_as_current_span("work"):
                pass
            yield text
        while hangs(hang):
            time.sleep(0.01)
        if fail:
            raise ValueError("no such voice")


class Live(Items):
    @streaming
    def predict(self, text: str = "x", fail: bool = False, hang: bool = False) -> ConcatenateIterator[str]:
        yield from super().predict(text, fail, hang)


class Files(Gated):
    def predict(self, text: str = "x", fail: bool = False, hang: bool = False) -> Path:
        while hangs(hang):
            time.sleep(0.01)
        if fail:
            raise ValueError("no such voice")
        path = tempfile.mktemp(suffix=".txt")
        with open(path, "w") as file:
            file.write(text)
        return Path(path)


def train(text: str = "x", fail: bool = False, hang: bool = False) -> str:
    with tracer.start_as_current_span("work"):
        while hangs(hang):
            time.sleep(0.01)
        if fail:
            raise ValueError("no such voice")
    return text
`

// cogRequest is one request that both servers get, in a new trace.
type cogRequest struct {
	method, path string
	body         any
	headers      []string
	early        bool // during the setup
	hangs        bool // until it is canceled
	busy         bool // while the one that hangs runs
}

// cogRequests are the requests of a model; peer takes its uploads and webhooks.
func cogRequests(model, peer string) []cogRequest {
	path := "/predictions"
	if model == "train" {
		path = "/trainings"
	}
	body := func(more map[string]any) map[string]any {
		more["input"] = map[string]any{"text": "hello"}
		if model == "Files" {
			more["output_file_prefix"] = peer + "/"
		}
		return more
	}
	of := func(name string, value any) map[string]any {
		return map[string]any{"input": map[string]any{name: value}}
	}
	sse := []string{"accept", "text/event-stream"}
	return []cogRequest{
		{method: http.MethodPost, path: path, body: body(map[string]any{}), early: true},
		{
			method: http.MethodPut, path: path + "/early", body: body(map[string]any{}),
			headers: []string{"prefer", "respond-async"}, early: true,
		},
		{
			method: http.MethodPost, path: path,
			body:    body(map[string]any{"context": map[string]string{"trace.user": "ann", "trace.b c": "no", "other": "x"}}),
			headers: []string{"tracestate", "a=b"},
		},
		{method: http.MethodPost, path: path, body: body(map[string]any{"context": manyCallers()})},
		{
			method: http.MethodPut, path: path + "/one",
			body: body(map[string]any{"webhook": peer, "webhook_events_filter": []string{"completed"}}),
		},
		{
			method: http.MethodPut, path: path + "/two", body: body(map[string]any{}),
			headers: []string{"prefer", "respond-async"},
		},
		{method: http.MethodPost, path: path, body: of("fail", true)},
		{method: http.MethodPost, path: path, body: body(map[string]any{}), headers: sse},
		{method: http.MethodPut, path: path + "/live", body: body(map[string]any{}), headers: sse},
		{method: http.MethodPost, path: path, body: of("fail", true), headers: sse},
		{method: http.MethodPost, path: path, body: of("text", 3)},
		{method: http.MethodPost, path: path, body: of("fail", "no"), headers: sse},
		{
			method: http.MethodPut, path: path + "/invalid", body: of("text", []int{}),
			headers: []string{"prefer", "respond-async"},
		},
		{
			method: http.MethodPut, path: path + "/hanging", body: of("hang", true),
			headers: []string{"prefer", "respond-async"}, hangs: true,
		},
		{method: http.MethodPost, path: path, body: body(map[string]any{}), busy: true},
		{method: http.MethodPost, path: path + "/hanging/cancel", busy: true},
		{method: http.MethodPost, path: path + "/none/cancel"},
	}
}

// manyCallers is a context beyond each bound of the attributes that a client may set.
func manyCallers() map[string]string {
	context := map[string]string{
		"trace.": "no name", "trace.ümlaut": "no", "trace.a/b": "no", "other": "no", "Trace.Upper": "no",
		"trace." + strings.Repeat("a", 64): "the longest name", "trace." + strings.Repeat("a", 65): "no",
		"trace.Aa-_.9": "each character", "trace.ab": strings.Repeat("v", 128), "trace.ac": strings.Repeat("v", 129),
		"trace.ad": strings.Repeat("v", 127) + "é", "trace.ae": "",
	}
	for i := range 20 {
		context[fmt.Sprintf("trace.b%02d", i)] = strings.Repeat("w", 128)
	}
	return context
}

// TestTraces_AreThoseOfCog: Cog's server and ours get the same models and requests. Each span of Cog's is among ours,
// in its place, of its kind and process, with its attributes.
func TestTraces_AreThoseOfCog(t *testing.T) {
	harness.Full(t)
	t.Parallel()
	python := harness.Tool(t, "venvs/cog/bin/python")
	for _, model := range []string{"Sync", "Async", "Items", "Live", "Files", "train"} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			served := model
			if model == "train" {
				served = "Sync"
			}
			dir := harness.NewFolder(t, "run.py", cogModels, "cog.yaml", "run: run.py:"+served+"\ntrain: run.py:train\n")
			schema := harness.CLI{Dir: dir}.Good(t, "schema")
			theirDir := harness.NewFolder(t, "run.py", cogModels, ".cog/openapi_schema.json", schema)
			peer := httptest.NewServer(http.HandlerFunc(
				func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
			defer peer.Close()
			requests := cogRequests(model, peer.URL)
			if model == "train" {
				requests = slices.DeleteFunc(requests, func(r cogRequest) bool { return r.early }) // Cog has no setup then
			}
			theirs := tracesOf(t, requests,
				func(env []string) (string, func()) { return startCog(t, python, theirDir, model, env) })
			ours := tracesOf(t, requests, func(env []string) (string, func()) {
				s := harness.Start(t, harness.Options{Dir: dir, Python: python, Env: env})
				return s.Address, s.Stop
			})
			for _, key := range slices.Sorted(maps.Keys(theirs)) {
				compareSpan(t, key, theirs[key], ours)
			}
			assert.True(t, len(theirs) >= 3*len(requests),
				"Cog sent too few spans to compare: %v, want at least %d", theirs, 3*len(requests))
		})
	}
}

// compareSpan looks for one of Cog's spans among ours.
func compareSpan(t *testing.T, key string, theirs map[string]string, ours map[string]map[string]string) {
	t.Helper()
	own, has := ours[key]
	above, _, _ := strings.Cut(key, " > cog.prediction.validate")
	switch {
	case has:
	case ours[above+" (SPAN_KIND_INTERNAL, parent)"]["error.type"] == "not_ready":
		return // Cog checks the input before it looks whether there is a model
	default:
		t.Errorf("got no span %s, want it: Cog sends it", key)
		return
	}
	for name, value := range theirs {
		got := own[name]
		// Ours: a refused stream and an answer of 5xx have the status that OpenTelemetry's conventions ask for.
		unset := name == "status" && value == "STATUS_CODE_UNSET"
		if refused := theirs["error.type"] == "" && own["error.type"] == "validation_error" ||
			own["http.response.status_code"] == "503"; refused && unset {
			value = "STATUS_CODE_ERROR"
		}
		assert.Equal(t, key+": "+name, got, value)
	}
	for name, value := range own {
		if _, has := theirs[name]; !has && strings.HasPrefix(name, "caller.") {
			t.Errorf(`%s: %s is %q here, and Cog has none, want no "caller." at its start`, key, name, value)
		}
	}
}

// tracesOf starts a server, sends it the requests and returns the spans that it sends, by their places: the number of
// the request, the names from the root, kind and role. Of each it has the attributes.
func tracesOf(t *testing.T, requests []cogRequest,
	start func(env []string) (address string, stop func()),
) map[string]map[string]string {
	t.Helper()
	c := harness.StartCollector(t)
	gate := filepath.Join(t.TempDir(), "gate")
	address, stop := start([]string{
		"COG_TRACE_CONFIGURED=1", "COG_TRACE_SAMPLER=parentbased_always_on", "OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL,
		"OTEL_BSP_SCHEDULE_DELAY=50",
		"GATE=" + gate,
	})
	s := harness.At(address)
	for i, r := range requests {
		if !r.early && !r.busy { // the one before has ended, for Cog's server has one slot and no queue
			harness.WriteFile(t, gate, "")
			assert.Eventually(t, "the server is ready", func() bool { return statusOf(s) == "READY" })
		}
		headers := append([]string{"traceparent", fmt.Sprintf("00-%032x-%s-01", i+1, harness.ClientParent)}, r.headers...)
		a := s.Do(r.method, r.path, r.body, headers...)
		assert.NoError(t, a.Err)
		if r.hangs {
			harness.WaitFile(t, gate+".hangs")
		}
	}
	stop()
	return placesOf(c.Spans())
}

// statusOf is what the health of Cog's server or ours says; "" while it does not answer.
func statusOf(s *harness.Server) string { return s.Do(http.MethodGet, "/health-check", nil).Status }

func placesOf(spans []*harness.Span) map[string]map[string]string {
	byID := map[string]*harness.Span{}
	for _, s := range spans {
		byID[s.SpanID()] = s
	}
	byPlace := map[string]map[string]string{}
	for _, s := range spans {
		attrs := map[string]string{"status": s.Status.GetCode().String(), "state": s.TraceState}
		for name, value := range s.Attrs() {
			switch name {
			case "cog.slot.id": // each server names its slots
				value = "a slot"
			case "cog.prediction.id":
				if text, _ := value.(string); !slices.Contains([]string{"early", "one", "two", "live", "invalid", "hanging"},
					text) {
					value = "an id"
				}
			case "code.file.path", "code.line.number", "code.module.name", "busy_ns", "idle_ns", "target", "thread.id",
				"thread.name":
				continue // what Cog's library adds about its source
			}
			attrs[name] = fmt.Sprint(value)
		}
		if strings.HasSuffix(s.Name, ".invoke") || s.Name == "cog.setup" {
			delete(attrs, "status") // Cog leaves it to the model's spans
		}
		names := s.Name
		for up := byID[s.ParentID()]; up != nil; up = byID[up.ParentID()] {
			names = up.Name + " > " + names
		}
		request := strings.TrimLeft(s.TraceID(), "0")
		if len(request) > 2 {
			request = "setup"
		}
		byPlace[fmt.Sprintf("%s: %s (%s, %v)", request, names, s.Kind, s.Resource["cog.process.role"])] = attrs
	}
	return byPlace
}

// startCog starts Cog's own server.
func startCog(t *testing.T, python, dir, model string, env []string) (address string, stop func()) {
	t.Helper()
	at := harness.FreeAddress(t)
	_, port, err := net.SplitHostPort(at)
	assert.NoError(t, err)
	args := []string{"-m", "cog.server.http"}
	stub := "COG_PREDICT_TYPE_STUB=run.py:" + model
	if model == "train" {
		args, stub = append(args, "--x-mode", "train"), "COG_TRAIN_TYPE_STUB=run.py:train"
	}
	cmd := exec.Command(python, args...)
	cmd.Dir = dir
	// Its worker is the first python3 of the path.
	cmd.Env = append(env, stub, "PORT="+port, "PATH="+filepath.Dir(python)+":"+os.Getenv("PATH"))
	var says bytes.Buffer
	cmd.Stdout, cmd.Stderr = &says, &says
	harness.StartCommand(t, cmd)
	stop = func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	}
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			stop()
		}
		if t.Failed() {
			t.Logf("Cog's server says: %s", &says)
		}
	})
	address = "http://127.0.0.1:" + port
	s := harness.At(address)
	assert.Eventually(t, "Cog's server answers", func() bool { return statusOf(s) != "" })
	return address, stop
}
