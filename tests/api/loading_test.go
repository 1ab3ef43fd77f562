package api

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// loadingModel is harness.SeveralModel, except that its setup waits for a file that is there to be read.
const loadingModel = harness.SeveralModel + `
class Waiting(Runner):
    def setup(self) -> None:
        super().setup()
        if os.path.exists("setup.fifo"):
            print("setup waits", flush=True)
            with open("setup.fifo") as file:
                file.read()
`

// modelsFile serves models by a file, which stands in the folder of the models' folders. The text has DIR for none of
// them: paths are from the file's folder.
func modelsFile(t testing.TB, text string, arguments ...string) (s *harness.Server, dir string) {
	t.Helper()
	newest := harness.NewestPython(t)
	dir, _ = harness.ModelFolders(t, map[string]harness.Python{"a": harness.OldestPython(t), "b": newest, "c": newest})
	for _, name := range []string{"a", "b", "c"} {
		harness.WriteFile(t, filepath.Join(dir, name, "run.py"), loadingModel)
		harness.WriteFile(t, filepath.Join(dir, name, "cog.yaml"), "run: run.py:Waiting\n")
	}
	file := filepath.Join(dir, "pinion.yaml")
	harness.WriteFile(t, file, text)
	return harness.Start(t, harness.Options{Dir: t.TempDir(), Models: []string{"--config", file}, Args: arguments}), dir
}

// hasState waits for the state of a model.
func hasState(t testing.TB, s *harness.Server, name, state string) {
	t.Helper()
	assert.Eventually(t, name+" is "+state, func() bool { return modelEntries(t, s)[name].State == state })
}

// processOf is the process that runs a prediction of a model.
func processOf(t testing.TB, s *harness.Server, model string) int {
	t.Helper()
	_, _, text, _ := harness.SaidBy(t, harness.PredictBy(s, model, harness.Input{}))
	return assert.Must(strconv.Atoi(text))(t)
}

// TestLoading_ModelsFile serves what a file says: the default at the root, keys before flags, a model that its first
// request loads.
func TestLoading_ModelsFile(t *testing.T) {
	t.Parallel()
	s, dir := modelsFile(t, "default: b\nmodels:\n  a: {path: a, load: on-demand, queue: 7}\n  b: {path: ./b, workers: 2}\n", "--queue", "3")
	harness.WaitModels(t, s)
	assert.Eventually(t, "both workers of b are ready", func() bool { return modelEntries(t, s)["b"].Slots == 2 })
	entries := modelEntries(t, s)
	if a := entries["a"]; a.State != "unloaded" || a.Load != "on-demand" || a.Default || a.Queue.Capacity != 7 ||
		a.Slots != 0 || a.MemoryBytes != 0 {
		t.Errorf("a is %+v, want State unloaded, Load on-demand, Default false, Capacity 7, Slots 0 and MemoryBytes 0", a)
	}
	b := entries["b"]
	assert.True(t, b.State == "ready" && b.Load == "startup" && b.Default && b.Queue.Capacity == 3 &&
		b.ModelURL == filepath.Join(dir, "b"),
		"b is %+v, want State ready, Load startup, Default true, Capacity 3 and ModelURL %q", b, filepath.Join(dir, "b"))
	saidBy(t, harness.PredictBy(s, "", harness.Input{}), "b")
	harness.WantCode(t, "readiness of what a request loads", s.Do(http.MethodGet, "/models/a/readyz", nil), http.StatusOK)
	model, python, _, _ := harness.SaidBy(t, harness.PredictBy(s, "a", harness.Input{}))
	assert.True(t, model == "a" && strings.HasPrefix(harness.OldestPython(t).Version, python+"."),
		"%s answers, on %s, want model a and Version starting with %q", model, python, python+".")
	if a := modelEntries(t, s)["a"]; a.State != "ready" || a.Slots != 1 || a.MemoryBytes == 0 {
		t.Errorf("a is %+v, want State ready, Slots 1 and MemoryBytes not 0", a)
	}
	harness.WantCode(t, "loading is not allowed", s.Do(http.MethodPost, "/models/a/load", nil), http.StatusNotFound)
}

// TestLoading_ModelsFileThatCannotBeServed ends the start with exit code 2, the file and the line.
func TestLoading_ModelsFileThatCannotBeServed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	harness.WriteFile(t, filepath.Join(dir, "a", "run.py"), harness.SeveralModel)
	file := filepath.Join(dir, "pinion.yaml")
	for _, c := range []struct {
		text string
		args []string
		want string
	}{
		{
			"models:\n  a:\n    path: a\n    worker: 2\n", nil,
			file + `:4: a: unknown key "worker"` + "\n    did you mean \"workers\"?",
		},
		{"models:\n  a: {path: a}\n  a: {path: a}\n", nil, file + `:3: models: "a" is given twice, first in line 2`},
		{"models:\n  a: {path: c}\n", nil, file + ":2: a: "},
		{"models:\n  a: {path: a, workers: none}\n", nil, file + ":2: a: workers"},
		{
			"models:\n  a: {path: a}\n",
			[]string{"a=" + dir + "/a"},
			"--config " + file + " names the models: leave out a=" + dir + "/a",
		},
		{"models:\n  a: {path: a}\n", []string{"--model", "x"}, "--model x names one model"},
		{"models:\n  a: {path: a, load: manual}\n", nil, "model a is loaded by POST /models/a/load, which needs --reload"},
	} {
		harness.WriteFile(t, file, c.text)
		harness.WantRefused(t, harness.Options{
			Dir: dir, Models: []string{"--config", file}, Python: harness.AnyPython(t).Path, Args: c.args,
		}, 2, "pinion: "+c.want)
	}
}

// TestLoading_LoadAndUnload: what runs may end, then the processes are gone, and loading starts new ones. Each may be
// asked for twice.
func TestLoading_LoadAndUnload(t *testing.T) {
	t.Parallel()
	s, dir := modelsFile(t, "models: {a: {path: a, load: manual}, b: {path: b}}\n", "--reload", "--grace", "1h")
	harness.WaitModels(t, s)
	harness.WantAnswer(t, "before it is loaded", harness.PredictBy(s, "a", harness.Input{}), http.StatusServiceUnavailable,
		"Model a is not loaded: POST /models/a/load loads it")
	for range 2 {
		var loaded modelEntry
		got := s.Do(http.MethodPost, "/models/a/load", nil)
		if harness.WantCode(t, "load", got, http.StatusOK); got.Code == http.StatusOK {
			harness.Decode(t, got, &loaded)
		}
		assert.Equal(t, "name", loaded.Name, "a")
		assert.Equal(t, "state", loaded.State, "ready")
	}
	pid, other := processOf(t, s, "a"), processOf(t, s, "b")
	open := harness.MakeFIFO(t, filepath.Join(dir, "a"), "gate")
	running := make(chan harness.Answer, 1)
	go func() { running <- harness.PredictBy(s, "a", harness.Input{"gate": "gate"}) }()
	s.WaitLog("waiting gate")
	unloaded := make(chan harness.Answer, 2)
	for range 2 {
		go func() { unloaded <- s.Do(http.MethodPost, "/models/a/unload", nil) }()
	}
	hasState(t, s, "a", "unloading")
	harness.WantAnswer(t, "while it is unloaded", harness.PredictBy(s, "a", harness.Input{}),
		http.StatusServiceUnavailable, "Model a is not loaded")
	assert.True(t, harness.Alive(pid), "the process is gone before its prediction")
	open()
	saidBy(t, harness.Receive(t, running), "a")
	for range 2 {
		var entry modelEntry
		got := harness.Receive(t, unloaded)
		if harness.WantCode(t, "unload", got, http.StatusOK); got.Code == http.StatusOK {
			harness.Decode(t, got, &entry)
		}
		assert.Equal(t, "state", entry.State, "unloaded")
		assert.Equal(t, "memory bytes", entry.MemoryBytes, 0)
	}
	assert.False(t, harness.Alive(pid), "the process is alive after the unload")
	harness.WantCode(t, "unload of what is unloaded", s.Do(http.MethodPost, "/models/a/unload", nil), http.StatusOK)
	assert.Equal(t, "the process of b", processOf(t, s, "b"), other)
	harness.WantCode(t, "load again", s.Do(http.MethodPost, "/models/a/load", nil), http.StatusOK)
	now := processOf(t, s, "a")
	assert.True(t, now != pid, "it has the old process: got %d, want anything but %d", now, pid)
	harness.WantAnswer(t, "an unknown one", s.Do(http.MethodPost, "/models/c/load", nil), http.StatusNotFound,
		"It has a, b")
	proxied := s.Do(http.MethodPost, "/models/a/unload", nil, "X-Forwarded-For", "192.0.2.1")
	harness.WantAnswer(t, "from elsewhere", proxied, http.StatusForbidden,
		"Only a program on the server's own machine, and not through a proxy")
	// A model that is loaded at the start stays unloaded, too, when a client has said so.
	harness.WantCode(t, "unload of b", s.Do(http.MethodPost, "/models/b/unload", nil), http.StatusOK)
	harness.WantAnswer(t, "b", harness.PredictBy(s, "b", harness.Input{}), http.StatusServiceUnavailable,
		"Model b is not loaded")
	assert.False(t, harness.Alive(other), "b's process is alive")
}

// TestLoading_UnloadWhileLoading: a setup that has not ended is given up.
func TestLoading_UnloadWhileLoading(t *testing.T) {
	t.Parallel()
	s, dir := modelsFile(t, "models: {b: {path: b}, a: {path: a, load: manual}}\n", "--reload")
	harness.MakeFIFO(t, filepath.Join(dir, "a"), "setup.fifo")
	loaded := make(chan harness.Answer, 1)
	go func() { loaded <- s.Do(http.MethodPost, "/models/a/load", nil) }()
	s.WaitLog("setup waits")
	harness.WantCode(t, "unload", s.Do(http.MethodPost, "/models/a/unload", nil), http.StatusOK)
	harness.WantAnswer(t, "the load", harness.Receive(t, loaded), http.StatusInternalServerError,
		"it was unloaded while it was being loaded")
}

// TestLoading_ReplacedWhileLoading: requests that wait for a model, or a version, wait for the one that SIGHUP puts in
// its place.
func TestLoading_ReplacedWhileLoading(t *testing.T) {
	t.Parallel()
	const text = `
models:
  b: {path: b}
  a: {path: a, load: on-demand, queue: QUEUE}
  c: {path: c, load: on-demand, queue: QUEUE}
  c@2: {path: c, load: on-demand, queue: QUEUE}
traffic: {c@2: 100}
`
	s, dir := modelsFile(t, strings.ReplaceAll(text, "QUEUE", "5"), "--queue-timeout", "10m")
	for _, name := range []string{"a", "c"} {
		harness.MakeFIFO(t, filepath.Join(dir, name), "setup.fifo")
	}
	asked := []func() harness.Answer{
		func() harness.Answer { return harness.PredictBy(s, "a", harness.Input{}) },
		func() harness.Answer { return harness.PredictBy(s, "c", harness.Input{}) },
		func() harness.Answer { return harness.PredictBy(s, "c@2", harness.Input{}) },
	}
	answers := make(chan harness.Answer, len(asked))
	for _, ask := range asked {
		go func() { answers <- ask() }()
	}
	assert.Eventually(t, "both setups wait", func() bool { return s.Log.Count("setup waits") == 2 })
	for _, name := range []string{"a", "c"} {
		assert.NoError(t, os.Remove(filepath.Join(dir, name, "setup.fifo")))
	}
	harness.WriteFile(t, filepath.Join(dir, "pinion.yaml"), strings.ReplaceAll(text, "QUEUE", "6"))
	s.Signal(syscall.SIGHUP)
	for range asked {
		harness.SaidBy(t, harness.Receive(t, answers))
	}
	assert.Equal(t, "queue of a", modelEntries(t, s)["a"].Queue.Capacity, 6)
}

// TestLoading_StopWhileLoading: those who wait for a load do not hold the server up.
func TestLoading_StopWhileLoading(t *testing.T) {
	t.Parallel()
	s, dir := modelsFile(t, "models: {b: {path: b}, a: {path: a, load: on-demand}, c: {path: c, load: manual}}\n",
		"--reload", "--grace", "1h")
	harness.MakeFIFO(t, filepath.Join(dir, "a"), "setup.fifo")
	harness.MakeFIFO(t, filepath.Join(dir, "c"), "setup.fifo")
	answers := make(chan harness.Answer, 2)
	go func() { answers <- harness.PredictBy(s, "a", harness.Input{}) }()
	go func() { answers <- s.Do(http.MethodPost, "/models/c/load", nil) }()
	assert.Eventually(t, "both wait", func() bool { return s.Log.Count("setup waits") == 2 })
	s.Signal(syscall.SIGTERM)
	for range 2 {
		harness.WantCode(t, "the answer", harness.Receive(t, answers), http.StatusServiceUnavailable)
	}
	s.Ended(0)
}

// TestLoading_OneModelOnDemand: a server of one model has no process until it is used, and none when it is not used any
// more.
func TestLoading_OneModelOnDemand(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{
		Model: "echo.py:text", Args: []string{"--load", "on-demand", "--idle-timeout", "200ms"},
	})
	if h := s.Health(); h.Status != "UNLOADED" || len(h.Workers) > 0 {
		t.Errorf("the health is %+v, want Status UNLOADED and len(Workers) empty", h)
	}
	harness.WantCode(t, "readiness", s.Do(http.MethodGet, "/readyz", nil), http.StatusOK)
	for range 2 {
		s.Succeed(harness.Input{"text": "x"})
		s.WaitHealth("UNLOADED")
	}
}

// TestLoading_LoadThatFails says why, to the one who asked and to requests, until it is asked for again.
func TestLoading_LoadThatFails(t *testing.T) {
	t.Parallel()
	s, dir := modelsFile(t, "models: {b: {path: b}, a: {path: a, load: on-demand}}\n", "--reload")
	broken := filepath.Join(dir, "a", "broken.txt")
	harness.WriteFile(t, broken, "")
	harness.WantAnswer(t, "the first request", harness.PredictBy(s, "a", harness.Input{}), http.StatusServiceUnavailable,
		"Model a could not be loaded: RuntimeError: it cannot be set up today")
	if a := modelEntries(t, s)["a"]; a.State != "failed" || !strings.Contains(a.Error, "it cannot be set up today") {
		t.Errorf(`a is %+v, want State failed and Error with "it cannot be set up today"`, a)
	}
	setups := s.Log.Count("setup failed")
	harness.WantAnswer(t, "the second", harness.PredictBy(s, "a", harness.Input{}), http.StatusServiceUnavailable,
		"Model a could not be loaded")
	assert.Equal(t, "setups that failed", s.Log.Count("setup failed"), setups)
	harness.WantAnswer(t, "load", s.Do(http.MethodPost, "/models/a/load", nil), http.StatusInternalServerError,
		"Model a is not loaded: the setup has failed: RuntimeError: it cannot be set up today")
	assert.NoError(t, os.Remove(broken))
	harness.WantCode(t, "load of what is fixed", s.Do(http.MethodPost, "/models/a/load", nil), http.StatusOK)
	saidBy(t, harness.PredictBy(s, "a", harness.Input{}), "a")
}

// TestLoading_RequestsWaitForLoad up to --queue-timeout, and load the model once.
func TestLoading_RequestsWaitForLoad(t *testing.T) {
	t.Parallel()
	s, dir := modelsFile(t, "models: {b: {path: b}, a: {path: a, load: on-demand, queue: 8, queue-timeout: 1h}}\n")
	open := harness.MakeFIFO(t, filepath.Join(dir, "a"), "setup.fifo")
	answers := make(chan harness.Answer, 5)
	for range 4 {
		go func() { answers <- harness.PredictBy(s, "a", harness.Input{}) }()
	}
	s.WaitLog("setup waits")
	hasState(t, s, "a", "loading")
	late := s.Do(http.MethodPost, "/models/a/predictions", map[string]any{"input": harness.Input{}}, "Pinion-Deadline",
		"0.05")
	harness.WantAnswer(t, "a request that cannot wait", late, http.StatusServiceUnavailable,
		"Model a is still being loaded")
	assert.True(t, late.Header.Get("Retry-After") != "", `it has no Retry-After: got "", want some text`)
	open()
	for range 4 {
		saidBy(t, harness.Receive(t, answers), "a")
	}
	assert.Equal(t, "setups", s.Log.Count("setup waits"), 1)
}

// TestLoading_LoadedAgain many times, a model leaves nothing behind.
func TestLoading_LoadedAgain(t *testing.T) {
	t.Parallel()
	s, _ := modelsFile(t, "models: {b: {path: b}, a: {path: a, load: manual}}\n", "--reload")
	harness.WaitModels(t, s)
	cycle := func() {
		harness.WantCode(t, "load", s.Do(http.MethodPost, "/models/a/load", nil), http.StatusOK)
		harness.SaidBy(t, harness.PredictBy(s, "a", harness.Input{}))
		harness.WantCode(t, "unload", s.Do(http.MethodPost, "/models/a/unload", nil), http.StatusOK)
	}
	cycle()
	s.CloseIdle()
	before := harness.Descriptors(t, s.PID)
	for range harness.Soak(50, 4) {
		cycle()
	}
	s.CloseIdle()
	assert.Eventually(t, fmt.Sprintf("%d descriptors", before),
		func() bool { return harness.Descriptors(t, s.PID) <= before })
	z := harness.Zombies(s)
	assert.True(t, len(z) == 0, "zombies: %v, want none", z)
}
