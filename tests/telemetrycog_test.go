package tests

import (
	"bytes"
	"encoding/json"
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

	"pinion/tests/harness"
)

// cogModels are served by Cog's server and by ours.
const cogModels = `import tempfile
from cog import BasePredictor, ConcatenateIterator, Path
from opentelemetry import trace

tracer = trace.get_tracer("model")


class Sync(BasePredictor):
    def setup(self):
        with tracer.start_as_current_span("load"):
            pass

    def predict(self, text: str = "x", fail: bool = False) -> str:
        with tracer.start_as_current_span("work"):
            if fail:
                raise ValueError("no such voice")
        return text


class Async(BasePredictor):
    async def predict(self, text: str = "x", fail: bool = False) -> str:
        with tracer.start_as_current_span("work"):
            if fail:
                raise ValueError("no such voice")
        return text


class Items(BasePredictor):
    def predict(self, text: str = "x", fail: bool = False) -> ConcatenateIterator[str]:
        for _ in range(2):
            with tracer.start_as_current_span("work"):
                pass
            yield text
        if fail:
            raise ValueError("no such voice")


class Files(BasePredictor):
    def predict(self, text: str = "x", fail: bool = False) -> Path:
        if fail:
            raise ValueError("no such voice")
        path = tempfile.mktemp(suffix=".txt")
        with open(path, "w") as file:
            file.write(text)
        return Path(path)


def train(text: str = "x", fail: bool = False) -> str:
    with tracer.start_as_current_span("work"):
        if fail:
            raise ValueError("no such voice")
    return text
`

// cogRequest is one request that both servers get, in a trace of its own.
type cogRequest struct {
	method, path string
	body         map[string]any
	headers      []string
}

// cogRequests are the requests of a model; peer takes its uploads and webhooks. None asks for a stream: Cog's server gives one only
// with a schema that its own build made.
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
	return []cogRequest{
		{http.MethodPost, path, body(map[string]any{"context": map[string]string{"trace.user": "ann", "trace.b c": "no", "other": "x"}}), []string{"tracestate", "a=b"}},
		{http.MethodPut, path + "/one", body(map[string]any{"webhook": peer, "webhook_events_filter": []string{"completed"}}), nil},
		{http.MethodPut, path + "/two", body(map[string]any{}), []string{"prefer", "respond-async"}},
		{http.MethodPost, path, map[string]any{"input": map[string]any{"fail": true}}, nil},
		{http.MethodPost, path + "/none/cancel", nil, nil},
	}
}

// TestTracesAreThoseOfCog: Cog's server and ours get the same models and requests. Each span of Cog's is among ours, in its place, of its
// kind and process, with its attributes.
func TestTracesAreThoseOfCog(t *testing.T) {
	harness.Full(t)
	t.Parallel()
	python := harness.Tool(t, "venvs/cog/bin/python")
	dir := modelFolder(t, map[string]string{"run.py": cogModels, "cog.yaml": "train: run.py:train\n"})
	for _, model := range []string{"Sync", "Async", "Items", "Files", "train"} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			peer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
			defer peer.Close()
			requests := cogRequests(model, peer.URL)
			theirs := tracesOf(t, requests, func(env []string) (string, func()) { return startCog(t, python, dir, model, env) })
			ours := tracesOf(t, requests, func(env []string) (string, func()) {
				served := model
				if model == "train" {
					served = "Sync"
				}
				s := harness.Ready(t, harness.Options{Dir: dir, Model: "run.py:" + served, Python: python, Env: env})
				return s.Address, s.Stop
			})
			for _, key := range slices.Sorted(maps.Keys(theirs)) {
				if !slices.Contains(keysOfTrace(ours), key) {
					t.Errorf("Cog sends %s, and we do not", key)
					continue
				}
				for name, value := range theirs[key] {
					if got := ours[key][name]; got != value {
						t.Errorf("%s: %s is %q with Cog, and %q here", key, name, value, got)
					}
				}
			}
			if len(theirs) < 4*len(requests) {
				t.Errorf("Cog sent too few spans to compare: %v", theirs)
			}
		})
	}
}

func keysOfTrace(all map[string]map[string]string) []string { return slices.Collect(maps.Keys(all)) }

// tracesOf starts a server, sends it the requests and returns the spans that it sends, by their places: the number of the request, the
// names from the root, kind and role. Of each it has the attributes.
func tracesOf(t *testing.T, requests []cogRequest, start func(env []string) (address string, stop func())) map[string]map[string]string {
	t.Helper()
	c := harness.StartCollector(t)
	address, stop := start([]string{
		"COG_TRACE_CONFIGURED=1", "COG_TRACE_SAMPLER=parentbased_always_on", "OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL, "OTEL_BSP_SCHEDULE_DELAY=50",
	})
	for i, r := range requests {
		var body io.Reader
		if r.body != nil {
			text, err := json.Marshal(r.body)
			if err != nil {
				t.Fatal(err)
			}
			body = bytes.NewReader(text)
		}
		req, err := http.NewRequest(r.method, address+r.path, body)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("traceparent", fmt.Sprintf("00-%032x-%s-01", i+1, clientParent))
		for j := 0; j < len(r.headers); j += 2 {
			req.Header.Set(r.headers[j], r.headers[j+1])
		}
		answer, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
		// The next one begins when this one has ended, for Cog's server has one slot and no queue.
		if traced := fmt.Sprintf("%032x", i+1); r.body != nil {
			harness.Eventually(t, fmt.Sprintf("the run of request %d is traced", i+1), func() bool {
				return slices.ContainsFunc(c.Spans(), func(s *harness.Span) bool {
					return s.TraceID() == traced && strings.HasSuffix(s.Name, ".execute")
				})
			})
		}
	}
	stop()
	return placesOf(c.Spans())
}

func placesOf(spans []*harness.Span) map[string]map[string]string {
	byID := map[string]*harness.Span{}
	for _, s := range spans {
		byID[s.SpanID()] = s
	}
	all := map[string]map[string]string{}
	for _, s := range spans {
		attrs := map[string]string{"status": s.Status.GetCode().String(), "state": s.TraceState}
		for name, value := range s.Attrs() {
			switch name {
			case "cog.slot.id": // each server names its slots
				value = "a slot"
			case "cog.prediction.id":
				if value != "one" && value != "two" {
					value = "an id"
				}
			case "code.file.path", "code.line.number", "code.module.name", "busy_ns", "idle_ns", "target", "thread.id", "thread.name":
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
		all[fmt.Sprintf("%s: %s (%s, %v)", request, names, s.Kind, s.Resource["cog.process.role"])] = attrs
	}
	return all
}

// startCog starts Cog's own server.
func startCog(t *testing.T, python, dir, model string, env []string) (address string, stop func()) {
	t.Helper()
	at := freeAddress(t)
	_, port, err := net.SplitHostPort(at)
	if err != nil {
		t.Fatal(err)
	}
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
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
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
	harness.Eventually(t, "Cog's server is ready", func() bool {
		answer, err := http.Get(address + "/health-check")
		if err != nil {
			return false
		}
		defer answer.Body.Close()
		text, _ := io.ReadAll(answer.Body)
		return strings.Contains(string(text), `"READY"`)
	})
	return address, stop
}
