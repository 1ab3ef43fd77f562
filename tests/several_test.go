package tests

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pinion/tests/harness"
)

// severalModel says which model, Python and process it is, and gets into trouble.
const severalModel = `
import os, sys
from cog import BaseRunner

class Runner(BaseRunner):
    def setup(self) -> None:
        if os.path.exists("broken.txt"):
            raise RuntimeError("it cannot be set up today")

    def run(self, text: str = "", gate: str = "", die: bool = False) -> str:
        if gate:
            print("waiting", gate, flush=True)
            with open(gate) as file:  # a named pipe: opens when the test does
                file.read()
        if die:
            os.abort()
        return f"{os.path.basename(os.getcwd())} 3.{sys.version_info.minor} {os.getpid()} {text}"
`

// modelFolders makes folders of models in one folder, each with a virtual environment of a Python. It returns their
// arguments.
func modelFolders(t testing.TB, pythons map[string]harness.Python) (dir string, arguments []string) {
	t.Helper()
	dir = t.TempDir()
	for _, name := range slices.Sorted(maps.Keys(pythons)) {
		model := filepath.Join(dir, name)
		writeFile(t, filepath.Join(model, "run.py"), severalModel)
		environment := filepath.Dir(filepath.Dir(harness.Venv(t, pythons[name])))
		if err := os.Symlink(environment, filepath.Join(model, ".venv")); err != nil {
			t.Fatal(err)
		}
		arguments = append(arguments, name+"="+model)
	}
	return dir, arguments
}

// ab serves model a, the default, and model b, on the oldest and the newest Python.
func ab(t testing.TB, arguments ...string) (s *harness.Server, dir string) {
	t.Helper()
	dir, models := modelFolders(t, map[string]harness.Python{"a": harness.OldestPython(t), "b": harness.NewestPython(t)})
	s = harness.Start(t, harness.Options{Dir: dir, Models: models, Args: arguments})
	allServe(t, s)
	return s, dir
}

// allServe waits until the first setups have ended.
func allServe(t testing.TB, s *harness.Server) {
	t.Helper()
	harness.Eventually(t, "the server is ready",
		func() bool { return s.Do(http.MethodGet, "/readyz", nil).Code == http.StatusOK })
}

// predictBy runs a prediction of a model; "": at the root.
func predictBy(s *harness.Server, model string, in input) harness.Answer {
	path := "/predictions"
	if model != "" {
		path = "/models/" + model + path
	}
	return s.Do(http.MethodPost, path, map[string]any{"input": in})
}

// said is what a model answered: which one it is, its Python, its process, and the text.
func said(t testing.TB, a harness.Answer) (model, python, pid, text string) {
	t.Helper()
	if a.Status != "succeeded" {
		t.Fatalf("got %s", a)
	}
	words := strings.SplitN(a.Text(t), " ", 4)
	return words[0], words[1], words[2], words[3]
}

// saidBy fails unless a model of this name answered.
func saidBy(t testing.TB, a harness.Answer, name string) {
	t.Helper()
	model, _, _, _ := said(t, a)
	same(t, "the model that answers", model, name)
}

// decode reads the whole answer.
func decode(t testing.TB, a harness.Answer, to any) {
	t.Helper()
	fromJSON(t, a.Body, to)
}

// modelEntry is one of GET /models.
type modelEntry struct {
	Name, State, Load, Error string
	Default                  bool
	SchemaURL                string `json:"schema_url"`
	Slots                    int
	Queue                    struct{ Length, Capacity int }
	MemoryBytes              int64  `json:"memory_bytes"`
	ModelName                string `json:"modelName"`
	ModelURL                 string `json:"modelUrl"`
}

func modelEntries(t testing.TB, s *harness.Server) map[string]modelEntry {
	t.Helper()
	var list struct{ Models []modelEntry }
	decode(t, s.Do(http.MethodGet, "/models", nil), &list)
	all := map[string]modelEntry{}
	for _, m := range list.Models {
		all[m.Name] = m
	}
	return all
}

// TestSeveralModels on two Pythons: each answers below its name, the first one at the root too.
func TestSeveralModels(t *testing.T) {
	t.Parallel()
	s, dir := ab(t, "--queue", "3")
	for path, want := range map[string]struct{ model, python string }{
		"": {"a", harness.OldestPython(t).Version}, "a": {"a", harness.OldestPython(t).Version},
		"b": {"b", harness.NewestPython(t).Version},
	} {
		model, python, _, text := said(t, predictBy(s, path, input{"text": "x"}))
		if model != want.model || !strings.HasPrefix(want.python, python+".") || text != "x" {
			t.Errorf("%q is answered by model %s on Python %s with %q, want %+v", path, model, python, text, want)
		}
	}
	entries := modelEntries(t, s)
	for name, isDefault := range map[string]bool{"a": true, "b": false} {
		m := entries[name]
		if m.MemoryBytes <= 0 {
			t.Errorf("%s has %d bytes", name, m.MemoryBytes)
		}
		m.MemoryBytes = 0
		want := modelEntry{
			Name: name, State: "ready", Load: "startup", Default: isDefault,
			SchemaURL: "/models/" + name + "/openapi.json", Slots: 1, ModelName: name, ModelURL: filepath.Join(dir, name),
		}
		want.Queue.Capacity = 3
		same(t, "the entry", m, want)
		var alone modelEntry
		decode(t, s.Do(http.MethodGet, "/models/"+name, nil), &alone)
		if alone.MemoryBytes = 0; alone != want {
			t.Errorf("alone it is %+v", alone)
		}
	}
	var health struct{ Models map[string]string }
	decode(t, s.Do(http.MethodGet, "/health-check", nil), &health)
	if !maps.Equal(health.Models, map[string]string{"a": "READY", "b": "READY"}) {
		t.Errorf("the health has %v", health.Models)
	}
	health.Models = nil
	if decode(t, s.Do(http.MethodGet, "/models/b/health-check", nil), &health); health.Models != nil {
		t.Errorf("the health of one model has %v", health.Models)
	}
	for _, path := range []string{"/models/c", "/models/c/predictions", "/models/c/predictions/1/cancel"} {
		method := http.MethodPost
		if path == "/models/c" {
			method = http.MethodGet
		}
		got := s.Do(method, path, map[string]any{})
		wantAnswer(t, path, got, http.StatusNotFound, `no model \"c\". It has a, b`)
	}
	wantCode(t, "an escaped path", s.Do(http.MethodGet, "/%6dodels/%62/livez", nil), http.StatusOK)
	wantCode(t, "no path of a model", s.Do(http.MethodGet, "/models/b/nope", nil), http.StatusNotFound)
	wantCode(t, "a wrong method", s.Do(http.MethodDelete, "/models/b/predictions", nil), http.StatusMethodNotAllowed)
	wantCode(t, "trainings of a model without", s.Do(http.MethodGet, "/models/b/trainings", nil), http.StatusNotFound)
}

// TestIDsAreAModelsOwn: a prediction of one model does not meet one of the other with the same id.
func TestIDsAreAModelsOwn(t *testing.T) {
	t.Parallel()
	s, dir := ab(t)
	open := makeFIFO(t, filepath.Join(dir, "a"), "gate")
	makeFIFO(t, filepath.Join(dir, "b"), "gate")
	answers := map[string]chan harness.Answer{"a": make(chan harness.Answer, 1), "b": make(chan harness.Answer, 1)}
	for model, to := range answers {
		go func() {
			to <- s.Do(http.MethodPut, "/models/"+model+"/predictions/same", map[string]any{"input": input{"gate": "gate"}})
		}()
	}
	harness.Eventually(t, "both run", func() bool { return s.Log.Count("waiting gate") == 2 })
	wantCode(t, "cancel", s.Do(http.MethodPost, "/models/b/predictions/same/cancel", nil), http.StatusOK)
	wantStatus(t, "b", harness.Receive(t, answers["b"]), "canceled")
	var running struct{ Status string }
	if decode(t, s.Do(http.MethodGet, "/predictions/same", nil), &running); running.Status != "processing" {
		t.Errorf("a is %s", running.Status)
	}
	open()
	saidBy(t, harness.Receive(t, answers["a"]), "a")
}

// TestACrashLeavesTheOtherModel: while one model dies again and again, the other loses nothing.
func TestACrashLeavesTheOtherModel(t *testing.T) {
	t.Parallel()
	s, _ := ab(t, "--queue", "8")
	_, _, before, _ := said(t, predictBy(s, "b", input{}))
	ended, died := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(died)
		for range 3 {
			wantStatus(t, "a", predictBy(s, "a", input{"die": true}), "failed")
		}
		close(ended)
	}()
	for done := false; !done; {
		select {
		case <-ended:
			done = true
		default:
		}
		if _, _, pid, _ := said(t, predictBy(s, "b", input{})); pid != before {
			t.Errorf("process %s answers for b, before it was %s", pid, before)
		}
		wantCode(t, "readiness", s.Do(http.MethodGet, "/readyz", nil), http.StatusOK)
	}
	<-died
	saidBy(t, predictBy(s, "a", input{}), "a")
}

// TestASetupThatFailsLeavesTheOtherModels: they serve, and the server is ready.
func TestASetupThatFailsLeavesTheOtherModels(t *testing.T) {
	t.Parallel()
	python := harness.AnyPython(t)
	dir, models := modelFolders(t, map[string]harness.Python{"a": python, "b": python})
	writeFile(t, filepath.Join(dir, "a/broken.txt"), "")
	s := harness.Start(t, harness.Options{Dir: dir, Models: models})
	allServe(t, s)
	harness.Eventually(t, "its worker is gone", func() bool { return modelEntries(t, s)["a"].State == "failed" })
	wantText(t, "the entry", modelEntries(t, s)["a"].Error, "it cannot be set up today")
	saidBy(t, predictBy(s, "b", input{}), "b")
	refused := predictBy(s, "", input{})
	if wantCode(t, "the default, which failed", refused,
		http.StatusServiceUnavailable); !strings.Contains(string(refused.Body), "/health-check") {
		t.Errorf("got %s", refused)
	}
	wantCode(t, "readiness of the model", s.Do(http.MethodGet, "/models/a/readyz", nil), http.StatusServiceUnavailable)
	wantCode(t, "liveness", s.Do(http.MethodGet, "/livez", nil), http.StatusOK)
}

// TestMetricsAndLogsNameTheModel where there are several, and do not where there is one.
func TestMetricsAndLogsNameTheModel(t *testing.T) {
	t.Parallel()
	s, _ := ab(t)
	said(t, predictBy(s, "b", input{}))
	said(t, predictBy(s, "b", input{}))
	said(t, predictBy(s, "", input{}))
	page := string(s.Do(http.MethodGet, "/metrics", nil).Body)
	for _, line := range []string{
		`pinion_predictions_total{mode="sync",model="a",reason="",status="succeeded"} 1`,
		`pinion_predictions_total{mode="sync",model="b",reason="",status="succeeded"} 2`,
		`pinion_http_requests_total{code="200",method="POST",model="a",route="/predictions"} 1`,
		`pinion_http_requests_total{code="200",method="POST",model="b",route="/models/{name}/predictions"} 2`,
		`pinion_workers{model="b",state="ready"} 1`,
	} {
		if !strings.Contains(page, line+"\n") {
			t.Errorf("the page lacks %s", line)
		}
	}
	seen := map[string]int{}
	for _, line := range strings.Split(page, "\n") {
		if name, ok := strings.CutPrefix(line, "# TYPE "); ok {
			seen[name]++
		}
	}
	for name, n := range seen {
		if n > 1 {
			t.Errorf("%s is there %d times", name, n)
		}
	}
	for name, number := range map[string]string{
		"go_goroutines": "", "pinion_memory_used_bytes": "",
		"process_open_fds": "",
	} {
		if !strings.Contains(page, "\n"+name+" "+number) {
			t.Errorf("%s is not the server's", name)
		}
	}
	line, ok := s.Log.First(func(l harness.Line) bool {
		return l.Text == "serving" &&
			strings.Contains(l.Raw, `"model":"b"`)
	})
	if !ok {
		t.Errorf("no line of the log has the model: %+v", line)
	}
	single := harness.Ready(t, harness.Options{Model: "echo.py:run"})
	if page := string(single.Do(http.MethodGet, "/metrics", nil).Body); strings.Contains(page, "model=") {
		t.Errorf("with one model the page has the label")
	}
}

// TestOtherProtocolsChooseTheModel by its name.
func TestOtherProtocolsChooseTheModel(t *testing.T) {
	t.Parallel()
	s, _ := ab(t)
	var list struct {
		Data   []struct{ ID string }
		Models []string
	}
	if decode(t, s.Do(http.MethodGet, "/v1/models", nil), &list); !slices.Equal(list.Models, []string{"a", "b"}) ||
		len(list.Data) != 2 {
		t.Errorf("the models are %+v", list)
	}
	for _, name := range list.Models {
		var got struct{ Predictions []string }
		decode(t, s.Do(http.MethodPost, "/v1/models/"+name+":predict", map[string]any{"instances": []input{{"text": "x"}}}),
			&got)
		if len(got.Predictions) != 1 || !strings.HasPrefix(got.Predictions[0], name+" ") {
			t.Errorf("%s answers %q", name, got.Predictions)
		}
		wantCode(t, "ready", s.Do(http.MethodGet, "/v2/models/"+name+"/ready", nil), http.StatusOK)
	}
	unknown := s.Do(http.MethodGet, "/v2/models/c", nil)
	wantAnswer(t, "an unknown one", unknown, http.StatusNotFound, `this server has \"a\", \"b\"`)
	var index []struct{ Name, State string }
	decode(t, s.Do(http.MethodPost, "/v2/repository/index", map[string]any{}), &index)
	same(t, "the index", fmt.Sprint(index), "[{a READY} {b READY}]")
}

// TestDocumentsAndPagesAreAModelsOwn: their paths are below its name, and the pages lead to each other.
func TestDocumentsAndPagesAreAModelsOwn(t *testing.T) {
	t.Parallel()
	s, _ := ab(t)
	type document struct {
		Servers []struct{ URL string }
		Info    struct{ Title string }
		Paths   map[string]json.RawMessage
	}
	var root, b document
	decode(t, s.Do(http.MethodGet, "/openapi.json", nil), &root)
	decode(t, s.Do(http.MethodGet, "/models/b/openapi.json", nil), &b)
	if len(root.Servers) != 0 || root.Paths["/models/{name}"] == nil || root.Paths["/v2/models/{model}/infer"] == nil {
		t.Errorf("the document at the root has servers %v and %d paths", root.Servers, len(root.Paths))
	}
	if len(b.Servers) != 1 || b.Servers[0].URL != "/models/b" || b.Info.Title != "b" {
		t.Errorf("b's document has servers %v, title %q", b.Servers, b.Info.Title)
	}
	for path := range b.Paths { // each is there
		path = strings.NewReplacer("{prediction_id}", "none").Replace(path)
		if got := s.Do(http.MethodGet, "/models/b"+path, nil); got.Code == http.StatusNotFound &&
			!strings.Contains(string(got.Body), "Prediction not found") {
			t.Errorf("%s: %s", path, got)
		}
	}
	for path, links := range map[string][]string{
		"/docs":          {`href="models/a/docs" aria-current="page"`, `href="models/b/docs">`},
		"/models/b/docs": {`href="../a/docs">`, `href="../b/docs" aria-current="page"`},
		"/dashboard":     {`href="models/b/dashboard">`}, "/models/b/dashboard": {`href="../a/dashboard">`},
	} {
		body := string(s.Do(http.MethodGet, path, nil).Body)
		for _, link := range links {
			if !strings.Contains(body, link) {
				t.Errorf("%s lacks %s", path, link)
			}
		}
	}
	var where map[string]string
	decode(t, s.Do(http.MethodGet, "/models/b/", nil), &where)
	if where["predictions_url"] != "/models/b/predictions" || where["shutdown_url"] != "" {
		t.Errorf("b's discovery document is %v", where)
	}
}

// TestTokensOfSeveralModels: what needs no token at the root needs none below a model either, and the list needs one.
func TestTokensOfSeveralModels(t *testing.T) {
	t.Parallel()
	tokens := filepath.Join(t.TempDir(), "tokens")
	writeFile(t, tokens, "secret\n")
	s, _ := ab(t, "--auth-token-file", tokens)
	for path, want := range map[string]int{
		"/models/b/livez": 200, "/models/b/readyz": 200, "/models/b/health-check": 200, "/models/b/docs": 200,
		"/models": 401, "/models/b": 401, "/models/b/openapi.json": 401, "/models/b/dashboard/events": 401,
		"/models/c/livez": 401,
	} {
		wantCode(t, path, s.Do(http.MethodGet, path, nil), want)
	}
	wantCode(t, "with a token", s.Do(http.MethodGet, "/models", nil, "Authorization", "Bearer secret"), http.StatusOK)
	if bare := string(s.Do(http.MethodGet, "/health-check", nil).Body); strings.Contains(bare, "models") {
		t.Errorf("without a token the health has the models: %s", bare)
	}
}

// TestReloadOfOneModel: the other keeps its worker.
func TestReloadOfOneModel(t *testing.T) {
	t.Parallel()
	s, _ := ab(t, "--reload")
	_, _, a, _ := said(t, predictBy(s, "a", input{}))
	_, _, b, _ := said(t, predictBy(s, "b", input{}))
	wantCode(t, "reload", s.Do(http.MethodPost, "/models/b/reload", nil), http.StatusAccepted)
	harness.Eventually(t, "b is replaced",
		func() bool { _, _, pid, _ := said(t, predictBy(s, "b", input{})); return pid != b })
	if _, _, pid, _ := said(t, predictBy(s, "a", input{})); pid != a {
		t.Errorf("a is replaced too")
	}
}

// TestSeveralModelsThatCannotBeServed end the start, with what is wrong.
func TestSeveralModelsThatCannotBeServed(t *testing.T) {
	t.Parallel()
	good, empty := folder(t, "run.py", severalModel), t.TempDir()
	for _, c := range []struct {
		models []string
		args   []string
		want   string
	}{
		{[]string{"a=" + good, "a=" + good}, nil, "two models have the name a"},
		{[]string{"a=" + good, good}, nil, "has no name: with several models, each is NAME=DIR"},
		{[]string{"a=" + good, "b="}, nil, `"b=" has no name`},
		{
			[]string{"a=" + good, "_b=" + good},
			nil,
			"a name is 1 to 200 of a-z A-Z 0-9 . _ - : and /, and begins with a letter or digit",
		},
		{[]string{"a=" + good, strings.Repeat("b", 201) + "=" + good}, nil, "a name is 1 to 200"},
		{[]string{"a=" + good, "b=" + empty}, nil, "model b: " + empty + " names no predictor"},
		{[]string{"a=" + good, "b=" + empty + "/nope"}, nil, "model b: find model folder"},
		{[]string{"a=" + good, "b=" + good}, []string{"--model", "x"}, "--model x names one model"},
		{
			[]string{"a=" + good, "b=" + good},
			[]string{"--nats", "embed"},
			"--nats: a server of several models has no job queue",
		},
		{[]string{"a=" + good, "b=" + good}, []string{"--x-mode", "train"}, "model a: " + good + " has no train function"},
	} {
		refused(t, harness.Options{Dir: good, Models: c.models, Python: harness.AnyPython(t).Path, Args: c.args}, 2, c.want)
	}
}
