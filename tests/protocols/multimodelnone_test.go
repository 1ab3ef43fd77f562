package protocols

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"sync"
	"syscall"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// noModelText is what the server says while no model is loaded.
const noModelText = "No model is loaded: POST /models with model_name and url loads one"

// wantNone checks what a server without a model answers at its root.
func wantNone(t *testing.T, s *harness.Server) {
	t.Helper()
	harness.WantCode(t, "ping", s.Do(http.MethodGet, "/ping", nil), http.StatusOK)
	assert.Equal(t, "the list", string(s.Do(http.MethodGet, "/models", nil).Body), `{"models":[]}`)
	input, async := []byte(`{"input":{"x":1}}`), []string{"Prefer", "respond-async"}
	for _, c := range []struct {
		method, path string
		body         []byte
		headers      []string
		code         int
		want         string
	}{
		{"POST", "/predictions", input, nil, http.StatusServiceUnavailable, noModelText},
		{"POST", "/predictions", input, async, http.StatusServiceUnavailable, noModelText},
		{"PUT", "/predictions/one", input, async, http.StatusServiceUnavailable, noModelText},
		{"POST", "/predictions", input, []string{"Accept", "text/event-stream"}, http.StatusServiceUnavailable, noModelText},
		{"POST", "/predictions", []byte(`{`), nil, http.StatusBadRequest, "invalid JSON"},
		{"GET", "/predictions/one", nil, nil, http.StatusNotFound, "not found"},
		{"POST", "/predictions/one/cancel", nil, nil, http.StatusNotFound, ""},
		{"POST", "/trainings", input, nil, http.StatusServiceUnavailable, noModelText},
		{"GET", "/readyz", nil, nil, http.StatusServiceUnavailable, noModelText},
		{"GET", "/livez", nil, nil, http.StatusOK, "{}"},
		{"GET", "/health-check", nil, nil, http.StatusOK, `"status":"UNLOADED"`},
		{"GET", "/health-check?example", nil, nil, http.StatusOK, `"status":"UNLOADED"`},
		{"GET", "/openapi.json", nil, nil, http.StatusServiceUnavailable, noModelText},
		{"GET", "/docs", nil, nil, http.StatusServiceUnavailable, noModelText},
		{"GET", "/docs/about", nil, nil, http.StatusServiceUnavailable, noModelText},
		{"GET", "/docs/examples/..%2f..%2fetc%2fpasswd", nil, nil, http.StatusServiceUnavailable, noModelText},
		{"GET", "/dashboard", nil, nil, http.StatusServiceUnavailable, noModelText},
		{"GET", "/dashboard/events", nil, nil, http.StatusServiceUnavailable, noModelText},
		{"GET", "/dashboard/search?q=x", nil, nil, http.StatusServiceUnavailable, noModelText},
		{"POST", "/dashboard/stack", nil, nil, http.StatusServiceUnavailable, noModelText},
		{"GET", "/", nil, nil, http.StatusOK, "predictions_url"},
		{"GET", "/metrics", nil, nil, http.StatusOK, "pinion_"},
		{"POST", "/reload", nil, nil, http.StatusServiceUnavailable, noModelText},
		{"POST", "/invocations", []byte(`{"x":1}`), nil, http.StatusServiceUnavailable, "no model is loaded"},
		{"GET", "/models/one", nil, nil, http.StatusNotFound, "is not loaded"},
		{"DELETE", "/models/one", nil, nil, http.StatusNotFound, "is not loaded"},
		{"POST", "/models/one/invoke", []byte(`{"x":1}`), nil, http.StatusNotFound, "is not loaded"},
		{"POST", "/models/one/predictions", input, nil, http.StatusNotFound, "It has none"},
		{"GET", "/v1/models", nil, nil, http.StatusOK, `"data":[]`},
		{"POST", "/v1/predictions", []byte(`{"version":"one","input":{}}`), nil, http.StatusUnprocessableEntity, "this server has none"},
		{"GET", "/v2/models/one", nil, nil, http.StatusNotFound, "this server has none"},
		{"POST", "/vertex", []byte(`{"instances":[{"x":1}]}`), nil, http.StatusServiceUnavailable, "no model is loaded"},
		{"GET", "/vertex-health", nil, nil, http.StatusServiceUnavailable, ""},
	} {
		harness.WantAnswer(t, c.method+" "+c.path, s.Do(c.method, c.path, c.body, c.headers...), c.code, c.want)
	}
}

// TestMultiModel_StartsWithNone: SageMaker starts the container without a model, loads the first one and unloads the
// last one.
func TestMultiModel_StartsWithNone(t *testing.T) {
	t.Parallel()
	dir := multiModelFolders(t)
	s := harness.Start(t, harness.Options{
		Dir: dir, Models: []string{}, Args: []string{"--reload"}, Env: []string{
			"SAGEMAKER_MULTI_MODEL=true", "AIP_PREDICT_ROUTE=/vertex", "AIP_HEALTH_ROUTE=/vertex-health",
		},
	})
	wantNone(t, s)
	for _, name := range []string{"one", "two"} {
		harness.WantCode(t, "load", s.Do(http.MethodPost, "/models", loads(name, filepath.Join(dir, name))), http.StatusOK)
		harness.WantCode(t, "ping", s.Do(http.MethodGet, "/ping", nil), http.StatusOK)
		harness.WantCode(t, "readyz", s.Do(http.MethodGet, "/readyz", nil), http.StatusOK)
		for path, want := range map[string]string{
			"/docs": "<title>" + name, "/dashboard": "<title>" + name, "/openapi.json": `"openapi"`, "/docs/about": "examples",
			"/models/" + name + "/docs": "<title>" + name, "/health-check": `"models":{"` + name + `":"READY"}`,
		} {
			harness.WantAnswer(t, path, s.Do(http.MethodGet, path, nil), http.StatusOK, want)
		}
		harness.WantAnswer(t, "at the root", s.Do(http.MethodPost, "/predictions", []byte(`{"input":{"x":1}}`)),
			http.StatusOK, `"model":"`+name+`"`)
		harness.WantAnswer(t, "invocations", s.Do(http.MethodPost, "/invocations", []byte(`{"x":1}`)), http.StatusOK,
			`"model":"`+name+`"`)
		harness.WantCode(t, "unload", s.Do(http.MethodDelete, "/models/"+name, nil), http.StatusOK)
		wantNone(t, s)
	}
	for _, name := range []string{"large", "broken"} {
		s.Do(http.MethodPost, "/models", loads(name, filepath.Join(dir, name)))
		wantNone(t, s)
	}
}

// TestMultiModel_FileNamesNone: a file of models may name none at the start and when it is read again, and bounds the
// memory of those that SageMaker loads.
func TestMultiModel_FileNamesNone(t *testing.T) {
	t.Parallel()
	dir := multiModelFolders(t)
	file := filepath.Join(dir, "pinion.yaml")
	harness.WriteFile(t, file, "memory: 1GiB\nmodels: {}\n")
	s := harness.Start(t, harness.Options{
		Dir: dir, Models: []string{"--config", file}, Args: []string{"--reload"},
		Env: []string{"SAGEMAKER_MULTI_MODEL=true", "AIP_PREDICT_ROUTE=/vertex", "AIP_HEALTH_ROUTE=/vertex-health"},
	})
	wantNone(t, s)
	reread := func(text string) {
		harness.WriteFile(t, file, text)
		s.Signal(syscall.SIGHUP)
	}
	answers := func(name string) {
		t.Helper()
		harness.WantAnswer(t, "at the root", s.Do(http.MethodPost, "/predictions", []byte(`{"input":{"x":1}}`)),
			http.StatusOK, `"model":"`+name+`"`)
	}
	listed := func(names string) {
		t.Helper()
		assert.Eventually(t, "the models are "+names, func() bool {
			return regexp.MustCompile(`"models":{("([a-z]+)":"READY",?)*}`).FindString(
				string(s.Do(http.MethodGet, "/health-check", nil).Body)) == names
		})
	}
	reread("models: {base: {path: base}}\n")
	listed(`"models":{"base":"READY"}`)
	answers("base")
	harness.WantCode(t, "load", s.Do(http.MethodPost, "/models", loads("one", filepath.Join(dir, "one"))), http.StatusOK)
	reread("models: {}\n") // which keeps those that SageMaker has loaded
	listed(`"models":{"one":"READY"}`)
	answers("one")
	harness.WantCode(t, "unload", s.Do(http.MethodDelete, "/models/one", nil), http.StatusOK)
	wantNone(t, s)
}

// TestMultiModel_FileNamesWhatIsBeingLoaded: of a model that SageMaker loads while the file comes to name it there is
// one.
func TestMultiModel_FileNamesWhatIsBeingLoaded(t *testing.T) {
	t.Parallel()
	dir := multiModelFolders(t)
	waiting := filepath.Join(dir, "two")
	harness.WriteFile(t, filepath.Join(waiting, "run.py"), multiModel+`
class Waiting(Adder):
    def setup(self) -> None:
        with open("fifo") as file:
            file.read()
`)
	harness.WriteFile(t, filepath.Join(waiting, "cog.yaml"), "run: run.py:Waiting\n")
	open := harness.MakeFIFO(t, waiting, "fifo")
	file := filepath.Join(dir, "pinion.yaml")
	harness.WriteFile(t, file, "models: {}\n")
	s := harness.Start(t, harness.Options{
		Dir: dir, Models: []string{"--config", file}, Env: []string{"SAGEMAKER_MULTI_MODEL=true"},
	})
	loaded := make(chan harness.Answer, 1)
	go func() { loaded <- s.Do(http.MethodPost, "/models", loads("one", waiting)) }()
	assert.Eventually(t, "it is being loaded", func() bool { return s.Log.Count("serving") == 1 })
	harness.WriteFile(t, file, "models: {one: {path: one}}\n")
	s.Signal(syscall.SIGHUP)
	listed := func() string { return string(s.Do(http.MethodGet, "/models", nil).Body) }
	want := fmt.Sprintf(`{"models":[{"modelName":"one","modelUrl":%q}]}`, filepath.Join(dir, "one"))
	assert.Eventually(t, "that of the file is loaded", func() bool { return listed() == want })
	open()
	harness.WantAnswer(t, "the load", harness.Receive(t, loaded), http.StatusConflict, "is loaded already")
	assert.Equal(t, "the list", listed(), want)
	assert.Eventually(t, "the other one is gone", func() bool { return s.Log.Count("unloaded") == 1 })
}

// TestMultiModel_ReadsTokensAgain on SIGHUP, also while no model is loaded.
func TestMultiModel_ReadsTokensAgain(t *testing.T) {
	t.Parallel()
	const first, second = "first-token-0123456789", "second-token-0123456789"
	file := harness.TokenFile(t, first)
	s, _ := startWithNone(t, "--auth-token-file", file)
	list := func(token string) harness.Answer {
		return s.Do(http.MethodGet, "/models", nil, "Authorization", "Bearer "+token)
	}
	harness.WantCode(t, "before", list(first), http.StatusOK)
	harness.WriteTokens(t, file, second)
	s.Signal(syscall.SIGHUP)
	assert.Eventually(t, "the tokens are read", func() bool { return s.Log.Count("tokens read") == 2 })
	harness.WantCode(t, "the old token", list(first), http.StatusUnauthorized)
	harness.WantCode(t, "the new token", list(second), http.StatusOK)
}

// TestMultiModel_PingWithoutModels: the server stays healthy for SageMaker when the model of the start is unloaded.
func TestMultiModel_PingWithoutModels(t *testing.T) {
	t.Parallel()
	s, _ := startMultiModel(t)
	harness.WantCode(t, "ping", s.Do(http.MethodGet, "/ping", nil), http.StatusOK)
	harness.WantCode(t, "unload", s.Do(http.MethodDelete, "/models/base", nil), http.StatusOK)
	harness.WantCode(t, "ping without a model", s.Do(http.MethodGet, "/ping", nil), http.StatusOK)
}

// TestMultiModel_PingOfBrokenSetup: a server whose only model cannot be set up is not healthy.
func TestMultiModel_PingOfBrokenSetup(t *testing.T) {
	t.Parallel()
	dir := multiModelFolders(t)
	s := harness.Start(t, harness.Options{
		Dir: dir, Models: []string{"broken=" + filepath.Join(dir, "broken")}, Env: []string{"SAGEMAKER_MULTI_MODEL=true"},
	})
	s.WaitHealth("SETUP_FAILED")
	harness.WantCode(t, "ping", s.Do(http.MethodGet, "/ping", nil), http.StatusServiceUnavailable)
}

// TestMultiModel_ComesAndGoes: requests at the root while the only model comes and goes are answered or refused.
func TestMultiModel_ComesAndGoes(t *testing.T) {
	t.Parallel()
	s, dir := startWithNone(t)
	ctx, stop := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	for _, path := range []string{
		"/docs", "/docs/about", "/dashboard", "/openapi.json", "/health-check", "/readyz", "/ping", "/models", "/models/one",
		"/models/one/health-check", "/metrics", "/v1/models", "/v2/models/one", "/invocations", "/predictions",
	} {
		clients.Go(func() {
			for ctx.Err() == nil {
				method, body := http.MethodGet, []byte(nil)
				if path == "/invocations" || path == "/predictions" {
					method, body = http.MethodPost, []byte(`{"input":{"x":1}}`)
				}
				if got := s.Do(method, path, body); got.Code >= http.StatusInternalServerError &&
					got.Code != http.StatusServiceUnavailable {
					t.Errorf("%s: got %s, want an answer or 503", path, got)
					return
				}
			}
		})
	}
	for range 5 {
		harness.WantCode(t, "load", s.Do(http.MethodPost, "/models", loads("one", filepath.Join(dir, "one"))), http.StatusOK)
		codes := make(chan int, 2) // of two clients one unloads it
		for range cap(codes) {
			go func() { codes <- s.Do(http.MethodDelete, "/models/one", nil).Code }()
		}
		sum := 0
		for range cap(codes) {
			sum += harness.Receive(t, codes)
		}
		assert.Equal(t, "the codes of two unloads together", sum, http.StatusOK+http.StatusNotFound)
	}
	stop()
	clients.Wait()
}

// TestMultiModel_RefusesToStart where only SageMaker could load models, or the folder's model has a mistake.
func TestMultiModel_RefusesToStart(t *testing.T) {
	t.Parallel()
	const on = "SAGEMAKER_MULTI_MODEL=true"
	mistake := t.TempDir()
	harness.WriteFile(t, filepath.Join(mistake, "cog.yaml"), "build: {gpu: false}\n")
	empty, none := t.TempDir(), filepath.Join(t.TempDir(), "none.yaml")
	harness.WriteFile(t, none, "models: {}\n")
	for _, c := range []struct {
		o    harness.Options
		want string
	}{
		{harness.Options{Dir: empty, Models: []string{}}, "names no predictor"},
		{harness.Options{Dir: empty, Models: []string{}, Env: []string{"SAGEMAKER_MULTI_MODEL=false"}}, "names no predictor"},
		{harness.Options{Dir: empty, Models: []string{"."}, Env: []string{on}}, "names no predictor"},
		{harness.Options{Dir: empty, Models: []string{"one=" + empty}, Env: []string{on}}, "names no predictor"},
		{harness.Options{Dir: mistake, Models: []string{}, Env: []string{on}}, "names no predictor"},
		{harness.Options{Dir: empty, Models: []string{"--config", none}}, "none.yaml:1: models is empty"},
		{
			harness.Options{Dir: empty, Models: []string{"--config", none}, Env: []string{on}, Args: []string{"--queue", "-1"}},
			"--queue -1",
		},
		{
			harness.Options{Dir: empty, Models: []string{}, Env: []string{on}, Args: []string{"--model", "one"}},
			"--model one names one model",
		},
		{harness.Options{Dir: empty, Models: []string{}, Env: []string{on}, Args: []string{"--workers", "0"}}, "--workers"},
		{harness.Options{Dir: empty, Models: []string{}, Env: []string{"SAGEMAKER_MULTI_MODEL=maybe"}}, "SAGEMAKER_MULTI_MODEL"},
	} {
		code, text := harness.Refused(t, c.o)
		assert.Equal(t, "exit code", code, 2)
		assert.Contains(t, "text", text, c.want)
	}
}
