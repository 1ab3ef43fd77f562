package api

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

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
	refused := s.WaitLog("the file of models has a mistake, and nothing changes")
	harness.WantText(t, "the log", refused.Raw, `pinion.yaml:2: a: unknown key \"worker\"`)
	harness.WriteFile(t, filepath.Join(dir, "b", "broken.txt"), "")
	reread(t, s, dir, "models:\n  a: {path: a}\n  b: {path: b, queue: 4}\n")
	s.WaitLog("the changed model is not served: it stays as it was")
	if entries := modelEntries(t, s); len(entries) != 2 || entries["b"].Queue.Capacity != 3 {
		t.Errorf("the models are %+v, want len(entries) 2 and Capacity 3", entries)
	}
	if err := os.Remove(filepath.Join(dir, "b", "broken.txt")); err != nil {
		t.Fatal(err)
	}

	reread(t, s, dir, "default: c\nmodels:\n  a: {path: a}\n  b: {path: b, queue: 5}\n  c: {path: c}\n")
	harness.Eventually(t, "b is replaced", func() bool { return modelEntries(t, s)["b"].Queue.Capacity == 5 })
	hasState(t, s, "c", "ready")
	if now := processOf(t, s, "b"); now == b || !harness.Alive(b) {
		t.Errorf("process %d answers for b, before it was %d, which lives: %v, want not %d and true", now, b,
			harness.Alive(b), b)
	}
	harness.Equal(t, "the process of a", processOf(t, s, "a"), a)
	if model, _, _, _ := harness.SaidBy(t, harness.PredictBy(s, "", harness.Input{})); model != "c" ||
		!modelEntries(t, s)["c"].Default {
		t.Errorf("%s answers at the root, want model c and Default true", model)
	}
	page := string(s.Do(http.MethodGet, "/metrics", nil).Body)
	if !strings.Contains(page, `pinion_workers{model="c",state="ready"} 1`) ||
		!strings.Contains(string(s.Do(http.MethodGet, "/docs", nil).Body), `href="models/c/docs" aria-current="page"`) {
		t.Error("metrics or the page at the root lack c, want it in both")
	}
	open()
	saidBy(t, harness.Receive(t, running), "b")
	harness.Eventually(t, "b's old process is gone", func() bool { return !harness.Alive(b) })

	reread(t, s, dir, "models:\n  c: {path: c}\n")
	harness.Eventually(t, "a and b are gone", func() bool { return len(modelEntries(t, s)) == 1 && !harness.Alive(a) })
	harness.WantAnswer(t, "a model that is gone", harness.PredictBy(s, "a", harness.Input{}), http.StatusNotFound,
		"It has c")
	saidBy(t, harness.PredictBy(s, "c", harness.Input{}), "c")
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
	harness.Eventually(t, "both workers of hello are ready", func() bool { return modelEntries(t, s)["hello"].Slots == 2 })
	if chat := modelEntries(t, s)["chat"]; chat.State != "unloaded" || chat.Load != "on-demand" {
		t.Errorf("chat is %+v, want State unloaded and Load on-demand", chat)
	}
}
