package workers

import (
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// leftoverThreads are the ways of tests/models/leftover_threads.py to outlive a prediction.
var leftoverThreads = []string{
	"thread", "thread_of_a_thread", "pool", "setups_pool", "thread_pool", "thread_pools_map", "popen",
	"popen_in_a_session", "system",
	"posix_spawn", "os_popen", "c_popen", "os_fork", "double_fork", "forked_process", "spawned_process",
	"forkserver_process",
	"thread_that_spawns", "thread_that_forks", "thread_of_bytes", "thread_of_a_shell", "thread_of_raw_files",
	"thread_of_native_code", "thread_of_stdio", "setups_pool_of_native_code", "native_thread", "native_thread_of_a_thread",
}

// leftoverLibrary is the variable that names the library of models/leftover.c.
func leftoverLibrary(t *testing.T) []string {
	t.Helper()
	return []string{"LEFTOVER=" + harness.SharedLibrary(t, "leftover.so", "models/leftover.c")}
}

// TestLeftoverThreads_WhatOutlivesItsPredictionWritesIntoNoOther: a thread or a child that writes while the next
// prediction runs does so to the server's log, unattributed. The next one's own text is whole, its children's and C's
// too, where one runs at a time.
func TestLeftoverThreads_WhatOutlivesItsPredictionWritesIntoNoOther(t *testing.T) {
	t.Parallel()
	everyLine := "mine\nraw\nbegun, ended\nmy thread's\nmy child's\nC's\nmy pool's\nmine, last\n"
	native := leftoverLibrary(t)
	for _, c := range []struct {
		class string
		args  []string
		kinds []string
		begin string // the logs of the one that starts it, except for its kind
		logs  string
	}{
		{"Runner", nil, leftoverThreads, "\nin between\nraw start\n", everyLine},
		{
			"Async", nil, append([]string{"task", "task_that_spawns"}, leftoverThreads...), "\nin between\nraw start\n",
			everyLine,
		},
		{
			"Async",
			[]string{"--concurrency", "2"},
			append([]string{"task", "task_that_spawns"}, leftoverThreads...), "\n",
			"mine\nbegun, ended\nmine, last\n",
		},
	} {
		t.Run(strings.Join(append([]string{c.class}, c.args...), " "), func(t *testing.T) {
			t.Parallel()
			harness.EachPython(t, func(t *testing.T, python harness.Python) {
				s := harness.Ready(t, harness.Options{
					Python: python.Path, Model: "leftover_threads.py:" + c.class, Args: c.args, Env: native,
				})
				for i, kind := range c.kinds {
					logs := func(in harness.Input) string { return harness.WithoutBlockedLoop(s.Succeed(in).Logs) }
					assert.Equal(t, kind+": the logs of the prediction that starts it", logs(harness.Input{"start": kind}),
						"starts "+kind+c.begin)
					assert.EqualNow(t, kind+": the next prediction's logs", logs(harness.Input{}), c.logs)
					for _, text := range []string{"a leftover says", "a leftover complains"} {
						assert.Eventually(t, kind+": the leftover's text in the server's log", func() bool {
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

// TestLeftoverThreads_ThreadThatWritesWhileItsPredictionEnds: all of its text after that is unattributed, to the byte.
func TestLeftoverThreads_ThreadThatWritesWhileItsPredictionEnds(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "leftover_threads.py:Writing", Env: leftoverLibrary(t)})
	for n := range 100 {
		a := s.Succeed(harness.Input{"n": n})
		assert.TrueNow(t, n%2 != 1 || a.Logs == "mine\n", "the next prediction's logs are %.300q, want %q", a.Logs, "mine\n")
		assert.TrueNow(t, n%2 != 0 || strings.ReplaceAll(a.Logs, "of an earlier one\n", "") == "",
			"its own logs are %.300q", a.Logs)
	}
}

// TestLeftoverThreads_ChildrenOfSetupWriteForRunningPrediction, also after another one has made children.
func TestLeftoverThreads_ChildrenOfSetupWriteForRunningPrediction(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "leftover_threads.py:Setups"})
	for range 3 {
		s.Succeed(harness.Input{"start": "popen"})
		assert.Equal(t, "the logs", s.Succeed(harness.Input{}).Logs, "of setup: hello\n")
	}
}

// TestLeftoverThreads_CrashAfterChildren: the fault handler's words are the prediction's, though it had children, one
// of which lives on.
func TestLeftoverThreads_CrashAfterChildren(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "leftover_threads.py:Crashing"})
	a := s.Input(harness.Input{})
	assert.True(t, a.Status == "failed" &&
		strings.HasPrefix(a.Logs, "before\nof a child\nafter\nFatal Python error: Segmentation fault"),
		"%s, want Status failed and Logs starting with %q", a,
		"before\nof a child\nafter\nFatal Python error: Segmentation fault")
}

// TestLeftoverThreads_TextOfChildAfterManyOthers: 80 predictions have left a child each, and the text of the next such
// child stays apart.
func TestLeftoverThreads_TextOfChildAfterManyOthers(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "leftover_threads.py:Runner"})
	for range 80 {
		s.Succeed(harness.Input{"start": "sleeper"})
	}
	s.Succeed(harness.Input{"start": "popen"})
	a := s.Succeed(harness.Input{})
	s.Succeed(harness.Input{"start": "wake_sleepers"})
	assert.Equal(t, "the logs", a.Logs, "mine\nraw\nbegun, ended\nmy thread's\nmy child's\nC's\nmy pool's\nmine, last\n")
}

// TestLeftoverThreads_PipesOfManyPredictions: no more are followed than a quarter of the descriptors, and none when
// their last writers are gone.
func TestLeftoverThreads_PipesOfManyPredictions(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{
		Model: "leftover_threads.py:Runner", Wrap: []string{"sh", "-c", `ulimit -n 512; exec "$@"`, "sh"},
	})
	front, worker := harness.Descriptors(t, s.PID), harness.Descriptors(t, s.Worker())
	for range 2 {
		for range 80 {
			s.Succeed(harness.Input{"start": "sleeper"})
		}
		n := harness.Descriptors(t, s.PID)
		assert.True(t, n >= front+128 && n <= front+140,
			"with 80 children the front has %d files open, without them %d, want %d to %d", n, front, front+128, front+140)
		s.Succeed(harness.Input{"start": "wake_sleepers"})
		assert.Eventually(t, "the pipes are closed", func() bool {
			return harness.Descriptors(t, s.PID) <= front+4 && harness.Descriptors(t, s.Worker()) <= worker+4
		})
	}
}
