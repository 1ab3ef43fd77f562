package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// saidBy fails unless a model of this name answered.
func saidBy(t testing.TB, a harness.Answer, name string) {
	t.Helper()
	model, _, _, _ := harness.SaidBy(t, a)
	assert.Equal(t, "the model that answers", model, name)
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
	harness.Decode(t, s.Do(http.MethodGet, "/models", nil), &list)
	entries := map[string]modelEntry{}
	for _, m := range list.Models {
		entries[m.Name] = m
	}
	return entries
}

// TestSeveral_Models on two Pythons: each answers below its name, the first one at the root too.
func TestSeveral_Models(t *testing.T) {
	t.Parallel()
	s, dir := harness.StartTwoModels(t, "--queue", "3")
	for path, want := range map[string]struct{ model, python string }{
		"": {"a", harness.OldestPython(t).Version}, "a": {"a", harness.OldestPython(t).Version},
		"b": {"b", harness.NewestPython(t).Version},
	} {
		model, python, _, text := harness.SaidBy(t, harness.PredictBy(s, path, harness.Input{"text": "x"}))
		assert.True(t, model == want.model && strings.HasPrefix(want.python, python+".") && text == "x",
			"%q is answered by model %s on Python %s with %q, want %+v", path, model, python, text, want)
	}
	entries := modelEntries(t, s)
	for name, isDefault := range map[string]bool{"a": true, "b": false} {
		m := entries[name]
		assert.True(t, m.MemoryBytes > 0, "%s has %d bytes, want more than 0", name, m.MemoryBytes)
		m.MemoryBytes = 0
		want := modelEntry{
			Name: name, State: "ready", Load: "startup", Default: isDefault,
			SchemaURL: "/models/" + name + "/openapi.json", Slots: 1, ModelName: name, ModelURL: filepath.Join(dir, name),
		}
		want.Queue.Capacity = 3
		assert.Equal(t, "the entry", m, want)
		var alone modelEntry
		harness.Decode(t, s.Do(http.MethodGet, "/models/"+name, nil), &alone)
		alone.MemoryBytes = 0
		assert.Equal(t, "alone", alone, want)
	}
	var health struct{ Models map[string]string }
	harness.Decode(t, s.Do(http.MethodGet, "/health-check", nil), &health)
	assert.True(t, maps.Equal(health.Models, map[string]string{"a": "READY", "b": "READY"}),
		"the health has %v, want %v", health.Models, map[string]string{"a": "READY", "b": "READY"})
	health.Models = nil
	harness.Decode(t, s.Do(http.MethodGet, "/models/b/health-check", nil), &health)
	assert.True(t, health.Models == nil, "the health of one model has %v", health.Models)
	for _, path := range []string{"/models/c", "/models/c/predictions", "/models/c/predictions/1/cancel"} {
		method := http.MethodPost
		if path == "/models/c" {
			method = http.MethodGet
		}
		got := s.Do(method, path, map[string]any{})
		harness.WantAnswer(t, path, got, http.StatusNotFound, `no model \"c\". It has a, b`)
	}
	harness.WantCode(t, "an escaped path", s.Do(http.MethodGet, "/%6dodels/%62/livez", nil), http.StatusOK)
	harness.WantCode(t, "no path of a model", s.Do(http.MethodGet, "/models/b/nope", nil), http.StatusNotFound)
	harness.WantCode(t, "a wrong method", s.Do(http.MethodDelete, "/models/b/predictions", nil),
		http.StatusMethodNotAllowed)
	harness.WantCode(t, "trainings of a model without", s.Do(http.MethodGet, "/models/b/trainings", nil),
		http.StatusNotFound)
}

// TestSeveral_IDsAreModelsOwn: a prediction of one model does not meet one of the other with the same id.
func TestSeveral_IDsAreModelsOwn(t *testing.T) {
	t.Parallel()
	s, dir := harness.StartTwoModels(t)
	open := harness.MakeFIFO(t, filepath.Join(dir, "a"), "gate")
	harness.MakeFIFO(t, filepath.Join(dir, "b"), "gate")
	answers := map[string]chan harness.Answer{"a": make(chan harness.Answer, 1), "b": make(chan harness.Answer, 1)}
	for model, to := range answers {
		go func() {
			to <- s.Do(http.MethodPut, "/models/"+model+"/predictions/same",
				map[string]any{"input": harness.Input{"gate": "gate"}})
		}()
	}
	assert.Eventually(t, "both run", func() bool { return s.Log.Count("waiting gate") == 2 })
	harness.WantCode(t, "cancel", s.Do(http.MethodPost, "/models/b/predictions/same/cancel", nil), http.StatusOK)
	harness.WantStatus(t, "b", harness.Receive(t, answers["b"]), "canceled")
	var running struct{ Status string }
	harness.Decode(t, s.Do(http.MethodGet, "/predictions/same", nil), &running)
	assert.True(t, running.Status == "processing", "a is %s, want processing", running.Status)
	open()
	saidBy(t, harness.Receive(t, answers["a"]), "a")
}

// TestSeveral_CrashLeavesOtherModel: while one model dies again and again, the other loses nothing.
func TestSeveral_CrashLeavesOtherModel(t *testing.T) {
	t.Parallel()
	s, _ := harness.StartTwoModels(t, "--queue", "8")
	_, _, before, _ := harness.SaidBy(t, harness.PredictBy(s, "b", harness.Input{}))
	ended, died := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(died)
		for range 3 {
			harness.WantStatus(t, "a", harness.PredictBy(s, "a", harness.Input{"die": true}), "failed")
		}
		close(ended)
	}()
	for done := false; !done; {
		select {
		case <-ended:
			done = true
		default:
		}
		_, _, pid, _ := harness.SaidBy(t, harness.PredictBy(s, "b", harness.Input{}))
		assert.True(t, pid == before, "process %s answers for b, before it was %s, want the same", pid, before)
		harness.WantCode(t, "readiness", s.Do(http.MethodGet, "/readyz", nil), http.StatusOK)
	}
	<-died
	saidBy(t, harness.PredictBy(s, "a", harness.Input{}), "a")
}

// TestSeveral_SetupThatFailsLeavesOtherModels: they serve, and the server is ready.
func TestSeveral_SetupThatFailsLeavesOtherModels(t *testing.T) {
	t.Parallel()
	python := harness.AnyPython(t)
	dir, models := harness.ModelFolders(t, map[string]harness.Python{"a": python, "b": python})
	harness.WriteFile(t, filepath.Join(dir, "a/broken.txt"), "")
	s := harness.Start(t, harness.Options{Dir: dir, Models: models})
	harness.WaitModels(t, s)
	assert.Eventually(t, "its worker is gone", func() bool { return modelEntries(t, s)["a"].State == "failed" })
	assert.Contains(t, "the entry", modelEntries(t, s)["a"].Error, "it cannot be set up today")
	saidBy(t, harness.PredictBy(s, "b", harness.Input{}), "b")
	refused := harness.PredictBy(s, "", harness.Input{})
	harness.WantCode(t, "the default, which failed", refused, http.StatusServiceUnavailable)
	assert.True(t, strings.Contains(string(refused.Body), "/health-check"),
		`got %s, want it to contain "/health-check"`, refused)
	harness.WantCode(t, "readiness of the model", s.Do(http.MethodGet, "/models/a/readyz", nil),
		http.StatusServiceUnavailable)
	harness.WantCode(t, "liveness", s.Do(http.MethodGet, "/livez", nil), http.StatusOK)
}

// TestSeveral_MetricsAndLogsNameModel where there are several, and do not where there is one.
func TestSeveral_MetricsAndLogsNameModel(t *testing.T) {
	t.Parallel()
	s, _ := harness.StartTwoModels(t)
	harness.SaidBy(t, harness.PredictBy(s, "b", harness.Input{}))
	harness.SaidBy(t, harness.PredictBy(s, "b", harness.Input{}))
	harness.SaidBy(t, harness.PredictBy(s, "", harness.Input{}))
	page := string(s.Do(http.MethodGet, "/metrics", nil).Body)
	for _, line := range []string{
		`pinion_predictions_total{mode="sync",model="a",reason="",status="succeeded"} 1`,
		`pinion_predictions_total{mode="sync",model="b",reason="",status="succeeded"} 2`,
		`pinion_http_requests_total{code="200",method="POST",model="a",route="/predictions"} 1`,
		`pinion_http_requests_total{code="200",method="POST",model="b",route="/models/{name}/predictions"} 2`,
		`pinion_workers{model="b",state="ready"} 1`,
	} {
		assert.Contains(t, "the page with "+line, page, line+"\n")
	}
	seen := map[string]int{}
	for _, line := range strings.Split(page, "\n") {
		if name, ok := strings.CutPrefix(line, "# TYPE "); ok {
			seen[name]++
		}
	}
	for name, n := range seen {
		assert.True(t, n <= 1, "%s is there %d times, want at most 1", name, n)
	}
	for name, number := range map[string]string{
		"go_goroutines": "", "pinion_memory_used_bytes": "",
		"process_open_fds": "",
	} {
		assert.Contains(t, name+" not the server's", page, "\n"+name+" "+number)
	}
	line, ok := s.Log.First(func(l harness.Line) bool {
		return l.Text == "serving" && strings.Contains(l.Raw, `"model":"b"`)
	})
	assert.True(t, ok, "no line of the log has the model: %+v", line)
	single := harness.Ready(t, harness.Options{Model: "echo.py:run"})
	if page := string(single.Do(http.MethodGet, "/metrics", nil).Body); strings.Contains(page, "model=") {
		t.Errorf(`with one model the page has the label: got %.300q, want no "model=" in it`, page)
	}
}

// TestSeveral_OtherProtocolsChooseModel by its name.
func TestSeveral_OtherProtocolsChooseModel(t *testing.T) {
	t.Parallel()
	s, _ := harness.StartTwoModels(t)
	var list struct {
		Data   []struct{ ID string }
		Models []string
	}
	harness.Decode(t, s.Do(http.MethodGet, "/v1/models", nil), &list)
	assert.True(t, slices.Equal(list.Models, []string{"a", "b"}) && len(list.Data) == 2,
		"the models are %+v, want Models [a b] and len(Data) 2", list)
	for _, name := range list.Models {
		var got struct{ Predictions []string }
		harness.Decode(t, s.Do(http.MethodPost, "/v1/models/"+name+":predict",
			map[string]any{"instances": []harness.Input{{"text": "x"}}}),
			&got)
		assert.True(t, len(got.Predictions) == 1 && strings.HasPrefix(got.Predictions[0], name+" "),
			"%s answers %q, want len(Predictions) 1 and Predictions[0] starting with %q", name, got.Predictions, name+" ")
		harness.WantCode(t, "ready", s.Do(http.MethodGet, "/v2/models/"+name+"/ready", nil), http.StatusOK)
	}
	unknown := s.Do(http.MethodGet, "/v2/models/c", nil)
	harness.WantAnswer(t, "an unknown one", unknown, http.StatusNotFound, `this server has \"a\", \"b\"`)
	var index []struct{ Name, State string }
	harness.Decode(t, s.Do(http.MethodPost, "/v2/repository/index", map[string]any{}), &index)
	assert.Equal(t, "the index", fmt.Sprint(index), "[{a READY} {b READY}]")
}

// TestSeveral_DocumentsAndPagesAreModelsOwn: their paths are below its name, and the pages lead to each other.
func TestSeveral_DocumentsAndPagesAreModelsOwn(t *testing.T) {
	t.Parallel()
	s, _ := harness.StartTwoModels(t)
	type document struct {
		Servers []struct{ URL string }
		Info    struct{ Title string }
		Paths   map[string]json.RawMessage
	}
	var root, b document
	harness.Decode(t, s.Do(http.MethodGet, "/openapi.json", nil), &root)
	harness.Decode(t, s.Do(http.MethodGet, "/models/b/openapi.json", nil), &b)
	if len(root.Servers) != 0 || root.Paths["/models/{name}"] == nil || root.Paths["/v2/models/{model}/infer"] == nil {
		t.Errorf("the document at the root has servers %v and %d paths, want none and those of loading and of gRPC's models",
			root.Servers, len(root.Paths))
	}
	assert.EqualNow(t, "number of servers", len(b.Servers), 1)
	assert.Equal(t, "URL of the first server", b.Servers[0].URL, "/models/b")
	assert.Equal(t, "title", b.Info.Title, "b")
	for path := range b.Paths { // each is there
		path = strings.NewReplacer("{prediction_id}", "none", "{number}", "0").Replace(path)
		got := s.Do(http.MethodGet, "/models/b"+path, nil)
		assert.True(t, got.Code != http.StatusNotFound || strings.Contains(string(got.Body), "Prediction not found") ||
			strings.Contains(string(got.Body), "The folder cog_examples has no such file"),
			`%s: %s, want with "Prediction not found" or with "The folder cog_examples has no such file"`, path, got)
	}
	for path, links := range map[string][]string{
		"/docs":          {`href="models/a/docs" aria-current="page"`, `href="models/b/docs">`},
		"/models/b/docs": {`href="../a/docs">`, `href="../b/docs" aria-current="page"`},
		"/dashboard":     {`href="models/b/dashboard">`}, "/models/b/dashboard": {`href="../a/dashboard">`},
	} {
		body := string(s.Do(http.MethodGet, path, nil).Body)
		for _, link := range links {
			assert.Contains(t, path, body, link)
		}
	}
	var where map[string]string
	harness.Decode(t, s.Do(http.MethodGet, "/models/b/", nil), &where)
	assert.Equal(t, `where["predictions_url"]`, where["predictions_url"], "/models/b/predictions")
	assert.Equal(t, `where["shutdown_url"]`, where["shutdown_url"], "")
}

// TestSeveral_TokensOfSeveralModels: what needs no token at the root needs none below a model either, and the list
// needs one.
func TestSeveral_TokensOfSeveralModels(t *testing.T) {
	t.Parallel()
	tokens := filepath.Join(t.TempDir(), "tokens")
	harness.WriteFile(t, tokens, "secret\n")
	s, _ := harness.StartTwoModels(t, "--auth-token-file", tokens)
	for path, want := range map[string]int{
		"/models/b/livez": 200, "/models/b/readyz": 200, "/models/b/health-check": 200, "/models/b/docs": 200,
		"/models": 401, "/models/b": 401, "/models/b/openapi.json": 401, "/models/b/dashboard/events": 401,
		"/models/c/livez": 401,
	} {
		harness.WantCode(t, path, s.Do(http.MethodGet, path, nil), want)
	}
	harness.WantCode(t, "with a token", s.Do(http.MethodGet, "/models", nil, "Authorization", "Bearer secret"),
		http.StatusOK)
	if bare := string(s.Do(http.MethodGet, "/health-check", nil).Body); strings.Contains(bare, "models") {
		t.Errorf(`without a token the health has the models: %s, want no "models" in it`, bare)
	}
}

// TestSeveral_ReloadOfOneModel: the other keeps its worker.
func TestSeveral_ReloadOfOneModel(t *testing.T) {
	t.Parallel()
	s, _ := harness.StartTwoModels(t, "--reload")
	_, _, a, _ := harness.SaidBy(t, harness.PredictBy(s, "a", harness.Input{}))
	_, _, b, _ := harness.SaidBy(t, harness.PredictBy(s, "b", harness.Input{}))
	harness.WantCode(t, "reload", s.Do(http.MethodPost, "/models/b/reload", nil), http.StatusAccepted)
	assert.Eventually(t, "b is replaced",
		func() bool {
			_, _, pid, _ := harness.SaidBy(t, harness.PredictBy(s, "b", harness.Input{}))
			return pid != b
		})
	_, _, pid, _ := harness.SaidBy(t, harness.PredictBy(s, "a", harness.Input{}))
	assert.Equal(t, "a is replaced too", pid, a)
}

// TestSeveral_ModelsThatCannotBeServed end the start, with what is wrong.
func TestSeveral_ModelsThatCannotBeServed(t *testing.T) {
	t.Parallel()
	good, empty := harness.NewFolder(t, "run.py", harness.SeveralModel), t.TempDir()
	for _, c := range []struct {
		models []string
		args   []string
		want   string
	}{
		{[]string{"a=" + good, "a=" + good}, nil, "two models have the name a"},
		{[]string{"a=" + good, good}, nil, "has no name: write each of several models as NAME=DIR"},
		{[]string{"a=" + good, "b="}, nil, `"b=" has no name`},
		{
			[]string{"a=" + good, "_b=" + good},
			nil,
			"a name is 1 to 200 of a-z A-Z 0-9 . _ - : and /, and begins with a letter or digit",
		},
		{[]string{"a=" + good, strings.Repeat("b", 201) + "=" + good}, nil, "a name is 1 to 200"},
		{[]string{"a=" + good, "b=" + empty}, nil, "model b: " + empty + " names no predictor"},
		{[]string{"a=" + good, "b=" + empty + "/nope"}, nil, "model b: " + empty + "/nope does not exist: name the folder that holds cog.yaml"},
		{[]string{"a=" + good, "b=" + good}, []string{"--model", "x"}, "--model x names one model"},
		{[]string{"a=" + good, "b=" + good}, []string{"--x-mode", "train"}, "model a: " + good + " has no train function"},
	} {
		harness.WantRefused(t, harness.Options{Dir: good, Models: c.models, Python: harness.AnyPython(t).Path, Args: c.args},
			2, c.want)
	}
}
