package workers

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestSmoke_ModelOfEachKindServes is what a Python gets that is not tested in full: each way to write a model answers,
// fails, is canceled, and comes back after its worker died.
func TestSmoke_ModelOfEachKindServes(t *testing.T) {
	t.Parallel()
	kinds := []struct {
		model, output string // what "do": "echo" answers
		args          []string
	}{
		{"Sync", `"echo"`, nil},
		{"Sync", `"echo"`, []string{"--preload"}},
		{"Async", `"echo"`, nil},
		{"Async", `"echo"`, []string{"--concurrency", "4"}},
		{"Generator", `["first","echo"]`, nil},
		{"AsyncGenerator", `["first","echo"]`, nil},
		{"Batch", `"echo"`, nil},
		{"AsyncBatch", `"echo"`, nil},
		{"Prepared", `"echo"`, nil},
		{"run", `"echo"`, nil},
	}
	for _, python := range harness.SmokePythons(t) {
		for _, kind := range kinds {
			t.Run(strings.Join(append([]string{python.Name(), kind.model}, kind.args...), " "), func(t *testing.T) {
				t.Parallel()
				args := append([]string{"--queue", "8"}, kind.args...)
				s := harness.Ready(t, harness.Options{Python: python.Path, Model: "smoke.py:" + kind.model, Args: args})
				a := s.Succeed(harness.Input{"do": "echo"})
				assert.True(t, string(a.Output) == kind.output && strings.Contains(a.Logs, "doing echo\n"),
					"got %s, want Output %q and Logs with %q", a, kind.output, "doing echo\n")
				a = s.Fail(harness.Input{"do": "raise"})
				assert.True(t, a.Error == "ValueError: as asked" && strings.Contains(a.Logs, "Traceback"),
					`got %s, want Error "ValueError: as asked" and Logs with "Traceback"`, a)
				harness.WantCode(t, "a wrong input", s.Input(harness.Input{"do": 5}), http.StatusUnprocessableEntity)
				sleeper := s.Begin("sleeper", harness.Input{"do": "sleep"})
				assert.Eventually(t, "the model sleeps", func() bool { return s.Log.Count("doing sleep") == 1 })
				harness.WantCode(t, "cancel", s.Cancel("sleeper"), http.StatusOK)
				harness.WantStatus(t, "the answer", harness.Receive(t, sleeper), "canceled")
				assert.Contains(t, "the error", s.Fail(harness.Input{"do": "die"}).Error, "worker")
				s.Succeed(harness.Input{"do": "echo"})
			})
		}
		t.Run(python.Name()+" training", func(t *testing.T) {
			t.Parallel()
			s := harness.Ready(t, harness.Options{
				Python: python.Path, Model: "smoke.py:run", Env: []string{"COG_TRAIN_TYPE_STUB=smoke.py:train"},
			})
			a := s.Do(http.MethodPost, "/trainings", map[string]any{"input": harness.Input{"do": "train"}})
			assert.Equal(t, "status", a.Status, "succeeded")
			assert.Equal(t, "output", string(a.Output), `"train"`)
		})
		t.Run(python.Name()+" values", func(t *testing.T) {
			t.Parallel()
			harness.NeedModule(t, python, "numpy")
			s := harness.Ready(t, harness.Options{Python: python.Path, Model: "smoke.py:Values"})
			file := "data:text/plain;base64," + base64.StdEncoding.EncodeToString([]byte("text"))
			a := s.Succeed(harness.Input{"array": []float64{1, 2.5}, "file": file})
			_, data, _ := strings.Cut(a.Text(t), ",")
			text, err := base64.StdEncoding.DecodeString(data)
			assert.True(t, err == nil && string(text) == "text 3.5", `got %s: %v, %q, want "text 3.5"`, a, err, string(text))
		})
	}
}
