package tests

import (
	"strings"
	"testing"

	"pinion/tests/harness"
)

// strays are the ways of tests/models/strays.py to outlive a prediction.
var strays = []string{
	"thread", "thread_of_a_thread", "pool", "setups_pool", "thread_pool", "thread_pools_map", "popen", "popen_in_a_session", "system",
	"posix_spawn", "os_popen", "c_popen", "os_fork", "double_fork", "forked_process", "spawned_process", "forkserver_process",
	"thread_that_spawns", "thread_that_forks",
}

// TestWhatOutlivesItsPredictionWritesIntoNoOther: a thread or a child that writes while the next prediction runs does so to the server's log,
// as nobody's. The next one's own text is whole, its children's and C's too, where one runs at a time.
func TestWhatOutlivesItsPredictionWritesIntoNoOther(t *testing.T) {
	t.Parallel()
	all := "mine\nraw\nmy child's\nC's\nmine, last\n"
	for _, c := range []struct {
		class string
		args  []string
		kinds []string
		begin string // the logs of the one that starts a stray, but for its kind
		logs  string
	}{
		{"Runner", nil, strays, "\nin between\nraw start\n", all},
		{"Async", nil, append([]string{"task", "task_that_spawns"}, strays...), "\nin between\nraw start\n", all},
		{"Async", []string{"--concurrency", "2"}, append([]string{"task", "task_that_spawns"}, strays...), "\n", "mine\nmine, last\n"},
	} {
		t.Run(strings.Join(append([]string{c.class}, c.args...), " "), func(t *testing.T) {
			t.Parallel()
			harness.EachPython(t, func(t *testing.T, python harness.Python) {
				s := harness.Ready(t, harness.Options{Python: python.Path, Model: "strays.py:" + c.class, Args: c.args})
				for i, kind := range c.kinds {
					if a := s.Succeed(input{"start": kind}); a.Logs != "starts "+kind+c.begin {
						t.Errorf("%s: the logs of the prediction that starts it are %q", kind, a.Logs)
					}
					if a := s.Succeed(input{}); a.Logs != c.logs {
						t.Fatalf("%s: the next prediction's logs are %q, want %q", kind, a.Logs, c.logs)
					}
					for _, text := range []string{"a stray says", "a stray complains"} {
						harness.Eventually(t, kind+": the stray's text in the server's log", func() bool {
							n := 0
							for _, l := range s.Log.Lines() {
								if strings.HasSuffix(l.Text, text) && l.PredictionID == "" {
									n++
								}
							}
							return n == i+1
						})
					}
				}
			})
		})
	}
}

// TestChildrenOfSetupWriteForTheRunningPrediction, also after another one has made children of its own.
func TestChildrenOfSetupWriteForTheRunningPrediction(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "strays.py:Setups"})
	for range 3 {
		s.Succeed(input{"start": "popen"})
		if a := s.Succeed(input{}); a.Logs != "of setup: hello\n" {
			t.Errorf("the logs are %q", a.Logs)
		}
	}
}

// TestACrashAfterChildren: the fault handler's words are the prediction's, though it had children, one of which lives on.
func TestACrashAfterChildren(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "strays.py:Crashing"})
	a := s.Input(input{})
	if a.Status != "failed" || !strings.HasPrefix(a.Logs, "before\nof a child\nafter\nFatal Python error: Segmentation fault") {
		t.Errorf("%s", a)
	}
}

// TestPipesOfManyPredictions: no more are followed than there is a limit to, and none when their last writers are gone.
func TestPipesOfManyPredictions(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "strays.py:Runner"})
	front, worker := harness.Descriptors(t, s.PID), harness.Descriptors(t, s.Worker())
	for range 2 {
		for range 80 {
			s.Succeed(input{"start": "sleeper"})
		}
		if n := harness.Descriptors(t, s.PID); n < front+128 || n > front+140 {
			t.Errorf("with 80 children the front has %d files open, without them %d", n, front)
		}
		s.Succeed(input{"start": "wake_sleepers"})
		harness.Eventually(t, "the pipes are closed", func() bool {
			return harness.Descriptors(t, s.PID) <= front+4 && harness.Descriptors(t, s.Worker()) <= worker+4
		})
	}
}
