package protocols

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// multiModel is a model that SageMaker loads.
const multiModel = harness.SeveralModel + `
class Adder(BaseRunner):
    def setup(self) -> None:
        if os.path.exists("large"):
            raise MemoryError("no room for the weights")
        if os.path.exists("broken"):
            raise RuntimeError("no weights")

    def run(self, x: int) -> dict:
        return {"sum": x + 1, "model": os.path.basename(os.getcwd())}
`

// startMultiModel serves the model base as SageMaker starts a container, and makes folders of further models.
func startMultiModel(t *testing.T, args ...string) (s *harness.Server, dir string) {
	t.Helper()
	dir = multiModelFolders(t)
	s = harness.Start(t, harness.Options{
		Dir: dir, Models: []string{"base=" + filepath.Join(dir, "base")}, Args: args,
		Env: []string{"SAGEMAKER_MULTI_MODEL=true"},
	})
	harness.WaitModels(t, s)
	return s, dir
}

// startWithNone serves no model: SageMaker is to load them.
func startWithNone(t *testing.T, args ...string) (s *harness.Server, dir string) {
	t.Helper()
	dir = multiModelFolders(t)
	return harness.Start(t, harness.Options{
		Dir: dir, Models: []string{}, Args: args, Env: []string{"SAGEMAKER_MULTI_MODEL=true"},
	}), dir
}

// multiModelFolders makes folders of models in one folder, which itself has none.
func multiModelFolders(t *testing.T) (dir string) {
	t.Helper()
	python := harness.OldestPython(t)
	dir, _ = harness.ModelFolders(t, map[string]harness.Python{
		"base": python, "one": python, "two": python, "large": python, "broken": python,
	})
	for _, name := range []string{"base", "one", "two", "large", "broken"} {
		harness.WriteFile(t, filepath.Join(dir, name, "run.py"), multiModel)
		harness.WriteFile(t, filepath.Join(dir, name, "cog.yaml"), "run: run.py:Adder\n")
	}
	harness.WriteFile(t, filepath.Join(dir, "large", "large"), "")
	harness.WriteFile(t, filepath.Join(dir, "broken", "broken"), "")
	return dir
}

// loads is the body of POST /models.
func loads(name, folder string) []byte {
	return fmt.Appendf(nil, `{"model_name":%q,"url":%q}`, name, folder)
}

// TestMultiModel_Contract: list, load, show, invoke and unload, as SageMaker asks.
func TestMultiModel_Contract(t *testing.T) {
	t.Parallel()
	s, dir := startMultiModel(t)
	folder := func(name string) string { return filepath.Join(dir, name) }
	entry := func(name string) string { return fmt.Sprintf(`{"modelName":%q,"modelUrl":%q}`, name, folder(name)) }
	wantList := func(names ...string) {
		t.Helper()
		var entries []string
		for _, name := range names {
			entries = append(entries, entry(name))
		}
		assert.Equal(t, "the list", string(s.Do(http.MethodGet, "/models", nil).Body),
			`{"models":[`+strings.Join(entries, ",")+`]}`)
	}
	wantList("base")
	harness.WantCode(t, "a model that is not loaded", s.Do(http.MethodGet, "/models/one", nil), http.StatusNotFound)
	for _, name := range []string{"one", "two"} {
		harness.WantCode(t, "load "+name, s.Do(http.MethodPost, "/models", loads(name, folder(name))), http.StatusOK)
	}
	wantList("base", "one", "two")
	for method, path := range map[string]string{
		http.MethodDelete: "/models/tow", http.MethodGet: "/models/tow", http.MethodPost: "/models/tow/invoke",
	} {
		harness.WantAnswer(t, method+" of a misspelt name", s.Do(method, path, []byte(`{"x":1}`)), http.StatusNotFound,
			`model \"tow\" is not loaded; did you mean \"two\"?`)
	}
	assert.Equal(t, "one", string(s.Do(http.MethodGet, "/models/one", nil).Body), entry("one"))
	harness.WantAnswer(t, "load it again", s.Do(http.MethodPost, "/models", loads("one", folder("one"))),
		http.StatusConflict, "is loaded already")
	const attributes = "X-Amzn-Sagemaker-Custom-Attributes"
	got := s.Do(http.MethodPost, "/models/two/invoke", []byte(`{"x":1}`), attributes, "trace=7")
	harness.WantAnswer(t, "invoke", got, http.StatusOK, `{"sum":2,"model":"two"}`)
	assert.Equal(t, "the attributes", got.Header.Get(attributes), "trace=7")
	harness.WantAnswer(t, "invocations", s.Do(http.MethodPost, "/invocations", []byte(`{"x":1}`)), http.StatusOK,
		`"model":"base"`)
	harness.WantCode(t, "the native API", s.Do(http.MethodPost, "/models/one/predictions", []byte(`{"input":{"x":1}}`)),
		http.StatusOK)
	var health struct{ Workers []struct{ PID int } }
	harness.Decode(t, s.Do(http.MethodGet, "/models/two/health-check", nil), &health)
	assert.Equal(t, "workers of two", len(health.Workers), 1)
	harness.WantCode(t, "unload", s.Do(http.MethodDelete, "/models/two", nil), http.StatusOK)
	for _, w := range health.Workers {
		assert.False(t, harness.Alive(w.PID), "process %d is alive after DELETE, want harness.Alive(w.PID) false", w.PID)
	}
	wantList("base", "one")
	for method, path := range map[string]string{
		http.MethodDelete: "/models/two", http.MethodGet: "/models/two", http.MethodPost: "/models/two/invoke",
	} {
		harness.WantCode(t, method+" after the unload", s.Do(method, path, []byte(`{"x":1}`)), http.StatusNotFound)
	}
	harness.WantCode(t, "load again", s.Do(http.MethodPost, "/models", loads("two", folder("one"))), http.StatusOK)
	harness.WantAnswer(t, "of another folder", s.Do(http.MethodPost, "/models/two/invoke", []byte(`{"x":1}`)),
		http.StatusOK, `"model":"one"`)
	harness.WantCode(t, "unload the first", s.Do(http.MethodDelete, "/models/base", nil), http.StatusOK)
	wantListOnly := string(s.Do(http.MethodGet, "/models", nil).Body)
	assert.False(t, strings.Contains(wantListOnly, `"base"`),
		"the list after DELETE has base: %s, want no %q in it", wantListOnly, `"base"`)
	harness.WantCode(t, "load the first", s.Do(http.MethodPost, "/models", loads("base", folder("base"))), http.StatusOK)
	harness.WantCode(t, "unload it again", s.Do(http.MethodDelete, "/models/base", nil), http.StatusOK)
	harness.WantCode(t, "load the first from another folder",
		s.Do(http.MethodPost, "/models", loads("base", folder("two"))), http.StatusOK)
	harness.WantAnswer(t, "of that folder", s.Do(http.MethodPost, "/models/base/invoke", []byte(`{"x":1}`)),
		http.StatusOK, `"model":"two"`)
	harness.WantCode(t, "load a.b", s.Do(http.MethodPost, "/models", loads("a.b", folder("one"))), http.StatusOK)
	harness.WantAnswer(t, "load one that would be the same tool", s.Do(http.MethodPost, "/models", loads("a_b", folder("one"))),
		http.StatusConflict, "a_b and a.b would be one tool a_b")
}

// TestMultiModel_Refuses what cannot be loaded, and leaves nothing of it.
func TestMultiModel_Refuses(t *testing.T) {
	t.Parallel()
	s, dir := startMultiModel(t)
	empty := t.TempDir()
	for _, c := range []struct {
		body []byte
		code int
		want string
	}{
		{loads("large", filepath.Join(dir, "large")), http.StatusInsufficientStorage, "MemoryError: no room for the weights"},
		{loads("broken", filepath.Join(dir, "broken")), http.StatusInternalServerError, "RuntimeError: no weights"},
		{loads("m", empty), http.StatusBadRequest, empty},
		{loads("m", filepath.Join(dir, "none")), http.StatusBadRequest, "none"},
		{loads("m", "base"), http.StatusBadRequest, "must be the absolute path"},
		{loads("m", "s3://bucket/model.tar.gz"), http.StatusBadRequest, "must be the absolute path"},
		{loads("a b", filepath.Join(dir, "one")), http.StatusBadRequest, "invalid model name"},
		{loads("../one", filepath.Join(dir, "one")), http.StatusBadRequest, "invalid model name"},
		{[]byte(`{"model_name":"m"}`), http.StatusBadRequest, "the texts model_name and url"},
		{[]byte(`{"model_name":7,"url":"/"}`), http.StatusBadRequest, "the texts model_name and url"},
		{[]byte(`[`), http.StatusBadRequest, "the texts model_name and url"},
		{nil, http.StatusBadRequest, "the texts model_name and url"},
	} {
		harness.WantAnswer(t, string(c.body), s.Do(http.MethodPost, "/models", c.body), c.code, c.want)
	}
	harness.WantAnswer(t, "a page of another origin",
		s.Do(http.MethodPost, "/models", loads("one", filepath.Join(dir, "one")), "Origin", "https://example.com"),
		http.StatusForbidden, "another origin")
	got := string(s.Do(http.MethodGet, "/models", nil).Body)
	assert.True(t, strings.Count(got, "modelName") == 1, "got %s, want base alone", got)
	assert.NoError(t, os.Remove(filepath.Join(dir, "broken", "broken")))
	harness.WantCode(t, "the mended one", s.Do(http.MethodPost, "/models", loads("broken", filepath.Join(dir, "broken"))),
		http.StatusOK)
}

// TestMultiModel_AtOnce: of several loads of one name, one succeeds.
func TestMultiModel_AtOnce(t *testing.T) {
	t.Parallel()
	s, dir := startMultiModel(t)
	answers := make(chan harness.Answer)
	for range 4 {
		go func() { answers <- s.Do(http.MethodPost, "/models", loads("one", filepath.Join(dir, "one"))) }()
	}
	codes := map[int]int{}
	for range 4 {
		codes[harness.Receive(t, answers).Code]++
	}
	assert.Equal(t, "answers with 200", codes[http.StatusOK], 1)
	assert.Equal(t, "answers with 409", codes[http.StatusConflict], 3)
}

// TestMultiModel_Off: without the variable, the routes are the native ones.
func TestMultiModel_Off(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "echo.py:text"})
	harness.WantCode(t, "POST /models", s.Do(http.MethodPost, "/models", loads("m", "/tmp")), http.StatusMethodNotAllowed)
}

// TestMultiModel_MetricsLeaveWithModel: when a model is unloaded for good, no series names it any more.
func TestMultiModel_MetricsLeaveWithModel(t *testing.T) {
	t.Parallel()
	s, dir := startMultiModel(t)
	harness.WriteFile(t, filepath.Join(dir, "one", "run.py"), `
import cog

class Runner(cog.BaseRunner):
    @cog.openai("chat")
    def run(self, messages: list[dict]) -> str:
        return "a"
`)
	harness.WriteFile(t, filepath.Join(dir, "one", "cog.yaml"), "run: run.py:Runner\n")
	harness.WantCode(t, "load", s.Do(http.MethodPost, "/models", loads("passing", filepath.Join(dir, "one"))), http.StatusOK)
	chat := s.Do(http.MethodPost, "/v1/chat/completions", `{"model":"passing","messages":[{"role":"user","content":"a"}]}`)
	harness.WantCode(t, "chat", chat, http.StatusOK)
	for _, series := range []string{`gen_ai_request_model="passing"`, `model="passing"`} {
		assert.Contains(t, "/metrics", string(s.Do(http.MethodGet, "/metrics", nil).Body), series)
	}
	harness.WantCode(t, "unload", s.Do(http.MethodDelete, "/models/passing", nil), http.StatusOK)
	page := string(s.Do(http.MethodGet, "/metrics", nil).Body)
	assert.True(t, !strings.Contains(page, "passing"), "the page of a server without the model: %s, want no series of it", page)
}
