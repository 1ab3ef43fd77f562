package supervise

import (
	"log/slog"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"testing"

	"pinion/ipc"
	"pinion/tests/assert"
)

func TestPreloader_DifferencesOfEnvironments(t *testing.T) {
	from := []string{"LANG=C", "KEPT=1", "TWICE=old", "TWICE=new", "EMPTY="}
	to := []string{"KEPT=1", "TWICE=new", "CUDA_VISIBLE_DEVICES=2", "EMPTY=x=y", "no variable"}
	got := map[string]string{}
	for name, value := range differences(from, to) {
		if got[name] = "(unset)"; value != nil {
			got[name] = *value
		}
	}
	want := map[string]string{"LANG": "(unset)", "CUDA_VISIBLE_DEVICES": "2", "EMPTY": "x=y"}
	assert.True(t, reflect.DeepEqual(got, want), "got %v, want %v", got, want)
}

// TestPreloader_PreloadProcessIsForItsOwnModel: a worker with another model, or another Python, is not forked from it.
func TestPreloader_PreloadProcessIsForItsOwnModel(t *testing.T) {
	m := &preloadProcess{task: task{
		spec: ipc.WorkerConfig{Python: "python", Root: "/model", Ref: "predict.py", SDK: "/one"},
	}}
	for what, c := range map[string]struct {
		change func(*ipc.WorkerConfig)
		fits   bool
	}{
		"the same":                 {func(*ipc.WorkerConfig) {}, true},
		"another copy of the SDK":  {func(s *ipc.WorkerConfig) { s.SDK = "/two" }, true},
		"other weights":            {func(s *ipc.WorkerConfig) { s.Weights = "weights" }, true},
		"another concurrency":      {func(s *ipc.WorkerConfig) { s.Concurrency = 4 }, true},
		"another file":             {func(s *ipc.WorkerConfig) { s.Ref = "other.py" }, false},
		"a train function besides": {func(s *ipc.WorkerConfig) { s.Train = "train.py:train" }, false},
		"another Python":           {func(s *ipc.WorkerConfig) { s.Python = "python3" }, false},
		"CUDA left to the model":   {func(s *ipc.WorkerConfig) { s.NoCUDA = true }, false},
	} {
		spec := m.task.spec
		c.change(&spec)
		assert.Equal(t, what, m.fits(spec), c.fits)
	}
}

func TestPreloader_LinesAreLoggedWhole(t *testing.T) {
	var got []string
	l := newLines(stdout, recorder{note: func(_ slog.Level, _ source, _ string, line []byte, _ ...any) {
		got = append(got, string(line))
	}})
	for _, text := range []string{"one\ntw", "o\n\nth", "ree"} {
		n, err := l.Write([]byte(text))
		assert.True(t, n == len(text) && err == nil, "wrote %d of %d bytes: %v, want %d", n, len(text), err, len(text))
	}
	l.end()
	want := []string{"one", "two", "", "three"}
	assert.True(t, slices.Equal(got, want), "got %q, want %q", got, want)
}

// TestPreloader_NoPreloader: a nil one has no process and blocks no start.
func TestPreloader_NoPreloader(t *testing.T) {
	var none *Preloader
	assert.True(t, none.await(nil, nil), "it is waited for")
	m, err := none.fork(&child{}, task{}, [handles]*os.File{})
	assert.True(t, m == nil && err == nil, "it has forked")
	none.Close()
	var ended *preloadProcess
	ended.end()
}

// TestPreloader_AdoptedProcessIsNoOrphan: its adopter waits for it.
func TestPreloader_AdoptedProcessIsNoOrphan(t *testing.T) {
	o := NewOrphans()
	cmd := exec.Command("true")
	var adopted child
	assert.NoError(t, o.adopt(&adopted, func(int) (int, error) {
		err := cmd.Start()
		return cmd.Process.Pid, err
	}))
	pid := adopted.pid
	for statOf(pid)[0] != "Z" {
	}
	n, _ := o.Reap()
	assert.True(t, n == 0, "%d orphans were reaped, want 0", n)
	assert.ErrorIs(t, "cmd.Wait", cmd.Wait(), nil)
	o.Waited(pid)
}
