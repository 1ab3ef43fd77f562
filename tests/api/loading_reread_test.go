package api

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// reread writes the file anew and has the server read it.
func reread(t testing.TB, s *harness.Server, dir, text string) {
	t.Helper()
	harness.WriteFile(t, filepath.Join(dir, "pinion.yaml"), text)
	harness.SendSignal(t, s.PID, syscall.SIGHUP)
}

// TestLoading_ModelsFileReread by SIGHUP: a new model comes, a missing one leaves, a changed one is replaced, the rest
// keeps its process. A file with a mistake, and a change that cannot be set up, change nothing.
func TestLoading_ModelsFileReread(t *testing.T) {
	t.Parallel()
	s, dir := modelsFile(t, "models:\n  a: {path: a}\n  b: {path: b, queue: 3}\n")
	harness.WaitModels(t, s)
	a, b := processOf(t, s, "a"), processOf(t, s, "b")
	open := harness.MakeFIFO(t, filepath.Join(dir, "b"), "gate")
	running := make(chan harness.Answer, 1)
	go func() { running <- harness.PredictBy(s, "b", harness.Input{"gate": "gate"}) }()
	s.WaitLog("waiting gate")

	reread(t, s, dir, "models:\n  a: {path: a, worker: 2}\n")
	refused := s.WaitLog("the file of models has a mistake: nothing changes")
	assert.Contains(t, "the log", refused.Raw, `pinion.yaml:2: a: unknown key \"worker\"`)
	reread(t, s, dir, "models:\n  a-1: {path: a}\n  a.1: {path: b}\n  a_1: {path: b}\n")
	assert.Eventually(t, "the log names two models that would be one tool", func() bool {
		_, told := s.Log.First(func(l harness.Line) bool { return strings.Contains(l.Raw, "a.1 and a_1 would be one tool a_1") })
		return told
	})
	harness.WriteFile(t, filepath.Join(dir, "b", "broken.txt"), "")
	reread(t, s, dir, "models:\n  a: {path: a}\n  b: {path: b, queue: 4}\n")
	s.WaitLog("the changed model is not served: it stays as it was")
	if entries := modelEntries(t, s); len(entries) != 2 || entries["b"].Queue.Capacity != 3 {
		t.Errorf("the models are %+v, want len(entries) 2 and Capacity 3", entries)
	}
	assert.NoError(t, os.Remove(filepath.Join(dir, "b", "broken.txt")))

	reread(t, s, dir, "default: c\nmodels:\n  a: {path: a}\n  b: {path: b, queue: 5}\n  c: {path: c}\n")
	assert.Eventually(t, "b is replaced", func() bool { return modelEntries(t, s)["b"].Queue.Capacity == 5 })
	hasState(t, s, "c", "ready")
	now := processOf(t, s, "b")
	assert.True(t, now != b && harness.Alive(b),
		"process %d answers for b, before it was %d, which lives: %v, want not %d and true", now, b, harness.Alive(b), b)
	assert.Equal(t, "the process of a", processOf(t, s, "a"), a)
	model, _, _, _ := harness.SaidBy(t, harness.PredictBy(s, "", harness.Input{}))
	assert.True(t, model == "c" && modelEntries(t, s)["c"].Default,
		"%s answers at the root, want model c and Default true", model)
	page := string(s.Do(http.MethodGet, "/metrics", nil).Body)
	assert.True(t, strings.Contains(page, `pinion_workers{model="c",state="ready"} 1`) &&
		strings.Contains(string(s.Do(http.MethodGet, "/docs", nil).Body), `href="models/c/docs" aria-current="page"`),
		"metrics or the page at the root lack c, want it in both")
	open()
	saidBy(t, harness.Receive(t, running), "b")
	assert.Eventually(t, "b's old process is gone", func() bool { return !harness.Alive(b) })

	reread(t, s, dir, "models:\n  c: {path: c}\n")
	assert.Eventually(t, "a and b are gone", func() bool { return len(modelEntries(t, s)) == 1 && !harness.Alive(a) })
	harness.WantAnswer(t, "a model that is gone", harness.PredictBy(s, "a", harness.Input{}), http.StatusNotFound,
		"It has c")
	saidBy(t, harness.PredictBy(s, "c", harness.Input{}), "c")
}

// TestLoading_ReplacedByStartupModel: requests that wait for a model wait for the one that SIGHUP puts in its place,
// also where that is loaded at once and no request loads it. The server stays ready meanwhile.
func TestLoading_ReplacedByStartupModel(t *testing.T) {
	t.Parallel()
	const before = `
models:
  b: {path: b}
  a: {path: a, load: on-demand}
  c: {path: c, load: on-demand}
  c@2: {path: c, load: on-demand}
traffic: {c@2: 100}
`
	s, dir := modelsFile(t, before, "--queue", "5", "--queue-timeout", "10m")
	harness.WaitModels(t, s)
	setups := []string{filepath.Join(dir, "a", "setup.fifo"), filepath.Join(dir, "c", "setup.fifo")}
	for _, path := range setups {
		harness.MakeFIFO(t, filepath.Dir(path), filepath.Base(path))
	}
	names := []string{"a", "c", "c@2"}
	answers := make(chan harness.Answer, len(names))
	for _, name := range names {
		go func() { answers <- harness.PredictBy(s, name, harness.Input{}) }()
	}
	assert.Eventually(t, "two setups wait", func() bool { return s.Log.Count("setup waits") == 2 })
	reread(t, s, dir, strings.ReplaceAll(before, ", load: on-demand", ""))
	assert.Eventually(t, "the old models are gone and three setups more wait", func() bool {
		return s.Log.Count("unloaded") == 2 && s.Log.Count("setup waits") == 5
	})
	harness.WantCode(t, "readiness", s.Do(http.MethodGet, "/readyz", nil), http.StatusOK)
	assert.Eventually(t, "all are answered", func() bool {
		for _, path := range setups {
			harness.OpenFIFO(path)
		}
		return len(answers) == len(names)
	})
	for range names {
		harness.SaidBy(t, harness.Receive(t, answers))
	}
}

// TestLoading_ReplacedStopFirst: no request is lost or loads the old model again while that ends before the new one is
// loaded, also if the file changes twice meanwhile.
func TestLoading_ReplacedStopFirst(t *testing.T) {
	t.Parallel()
	const text = "models:\n  b: {path: b}\n  a: {path: a, reload-strategy: stop-first, queue: QUEUE}\n"
	s, dir := modelsFile(t, strings.ReplaceAll(text, "QUEUE", "50"), "--queue-timeout", "10m")
	harness.WaitModels(t, s)
	open := harness.MakeFIFO(t, filepath.Join(dir, "a"), "gate")
	answers := make(chan harness.Answer, 41)
	go func() { answers <- harness.PredictBy(s, "a", harness.Input{"gate": "gate"}) }()
	s.WaitLog("waiting gate")
	for _, queue := range []string{"60", "70"} {
		reread(t, s, dir, strings.ReplaceAll(text, "QUEUE", queue))
		assert.Eventually(t, "the new one is there", func() bool {
			return strconv.Itoa(modelEntries(t, s)["a"].Queue.Capacity) == queue
		})
	}
	for range 4 {
		go func() {
			for range 10 {
				answers <- harness.PredictBy(s, "a", harness.Input{})
			}
		}()
	}
	hasState(t, s, "a", "unloaded")
	open()
	processes := map[string]bool{}
	for range cap(answers) {
		_, _, pid, _ := harness.SaidBy(t, harness.Receive(t, answers))
		processes[pid] = true
	}
	assert.Equal(t, "processes that answered", len(processes), 2)
	assert.Equal(t, "unloaded models", s.Log.Count("unloaded"), 1)
}

// TestLoading_RereadWhileSetupHangs: a changed model whose setup does not end holds nothing up, neither requests for
// the old one, nor a change of traffic, nor the next change of the file, which takes its place.
func TestLoading_RereadWhileSetupHangs(t *testing.T) {
	t.Parallel()
	const text = "models:\n  a: {path: a, queue: QUEUE}\n  c: {path: c}\n  c@2: {path: c}\n"
	write := func(queue string) string { return strings.ReplaceAll(text, "QUEUE", queue) }
	s, dir := modelsFile(t, write("3"), "--reload")
	harness.WaitModels(t, s)
	old := processOf(t, s, "a")
	harness.MakeFIFO(t, filepath.Join(dir, "a"), "setup.fifo")
	reread(t, s, dir, write("4"))
	s.WaitLog("setup waits")
	harness.WantCode(t, "traffic", s.Do(http.MethodPost, "/models/c/traffic", map[string]any{"c@1": 10, "c@2": 90}),
		http.StatusOK)
	assert.Equal(t, "the process of a", processOf(t, s, "a"), old)
	assert.NoError(t, os.Remove(filepath.Join(dir, "a", "setup.fifo")))
	reread(t, s, dir, write("5"))
	assert.Eventually(t, "a is replaced", func() bool { return modelEntries(t, s)["a"].Queue.Capacity == 5 })
	now := processOf(t, s, "a")
	assert.True(t, now != old, "process %d answers for a, want another", now)
	assert.Eventually(t, "the other models are gone", func() bool { return s.Log.Count("unloaded") == 2 })
	assert.Equal(t, "models that were served", s.Log.Count("serving"), 4)
}

// TestLoading_ModelsFileOfDocuments serves the file that the how-to shows.
func TestLoading_ModelsFileOfDocuments(t *testing.T) {
	t.Parallel()
	text := harness.ReadFile(t, "../docs/how-to/several-models.md")
	shown := regexp.MustCompile(`(?m)^    # pinion.yaml\n(?:    .+\n)+`).FindString(text)
	examples := harness.Absolute(t, "../examples")
	file := filepath.Join(t.TempDir(), "pinion.yaml")
	harness.WriteFile(t, file, strings.ReplaceAll(regexp.MustCompile(`(?m)^    `).ReplaceAllString(shown, ""), "examples/",
		examples+"/"))
	s := harness.Start(t, harness.Options{Models: []string{"--config", file}, Python: harness.AnyPython(t).Path})
	assert.Eventually(t, "both workers of hello are ready", func() bool { return modelEntries(t, s)["hello"].Slots == 2 })
	if chat := modelEntries(t, s)["chat"]; chat.State != "unloaded" || chat.Load != "on-demand" {
		t.Errorf("chat is %+v, want State unloaded and Load on-demand", chat)
	}
}
