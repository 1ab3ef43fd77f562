package workers

import (
	"path/filepath"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestCancel_OfWhatSwallowsExceptions ends event loops and callbacks that C code calls, long before the last try.
func TestCancel_OfWhatSwallowsExceptions(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, cancelLoops)
}

func cancelLoops(t *testing.T, python harness.Python) {
	t.Helper()
	for _, c := range []struct {
		model string
		ways  []string
		slots string
	}{
		{model: "Sync", slots: "1", ways: []string{
			"waiting", "blocking", "gathering", "loose", "grouping", "ticking", "forever", "callback", "native", "weakly",
			"looping", "saving",
		}},
		{model: "Sync", slots: "2", ways: []string{
			"waiting", "blocking", "gathering", "loose", "grouping", "callback", "native", "weakly", "looping",
		}},
		{model: "Async", slots: "1", ways: []string{"native", "weakly"}},
		{model: "Batch", slots: "1", ways: []string{"waiting", "blocking", "gathering", "loose", "native"}},
	} {
		s := harness.Ready(t, harness.Options{
			Python: python.Path, Model: "interrupts.py:" + c.model,
			Args: []string{"--cancel-grace", "10m", "--concurrency", c.slots},
		})
		worker := s.Worker()
		for _, how := range c.ways {
			if how == "grouping" && python.Minor < 11 {
				continue // without asyncio.TaskGroup
			}
			a := harness.CancelRunning(t, s, how, harness.Input{"how": how})
			assert.True(t, a.Status == "canceled" && strings.Count(a.Logs, "Traceback") <= 1,
				"%s of %s slots, %s: got %s, want it canceled and at most one traceback", c.model, c.slots, how, a)
			want, exact := map[string]string{
				"waiting":   "begun\nclean\n",         // the task cleans up
				"gathering": "begun\nclean\ncaught\n", // so does this one, and then the function
				"loose":     "begun\ncaught\n",
				"grouping":  "begun\ncaught\n",
				"saving":    "begun\ncaught\nsaved\n", // behind the handler
			}[how]
			assert.True(t, !exact || a.Logs == want,
				"%s of %s slots, %s: got the logs %q, want %q", c.model, c.slots, how, a.Logs, want)
		}
		assert.Equal(t, "afterwards", s.Succeed(harness.Input{"how": ""}).Text(t), "done")
		harness.SameWorker(t, s, worker)
	}
}

// TestCancel_DuringImport waits for its end: many libraries cannot be imported again after an import that failed.
func TestCancel_DuringImport(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		for _, model := range []string{"Sync", "Async", "Batch"} {
			s := harness.Ready(t, harness.Options{
				Python: python.Path, Model: "interrupts.py:" + model, Args: []string{"--cancel-grace", "10m"},
			})
			worker := s.Worker()
			answer := s.Begin("importing", harness.Input{"how": "importing"})
			assert.Eventually(t, "the import begins", func() bool { _, begun := s.Log.Find("begun"); return begun })
			s.Cancel("importing")
			harness.WriteFile(t, filepath.Join(s.Dir, "imported"), "")
			a := harness.Receive(t, answer)
			assert.True(t, a.Status == "canceled" && !strings.Contains(a.Logs, "Traceback"),
				"%s: got %s, want it canceled", model, a)
			again := s.Begin("again", harness.Input{"how": "importing"})
			assert.Eventually(t, "the second import has ended", func() bool {
				s.Cancel("again")
				select {
				case a := <-again:
					assert.Equal(t, model+", again", a.Status, "canceled")
					return true
				default:
					return false
				}
			})
			assert.Equal(t, "afterwards", s.Succeed(harness.Input{"how": ""}).Text(t), "done")
			harness.SameWorker(t, s, worker)
		}
	})
}

// TestCancel_OfModelWithItsOwnHandler kills the worker: the model keeps its handler of SIGUSR1.
func TestCancel_OfModelWithItsOwnHandler(t *testing.T) {
	t.Parallel()
	for by, text := range map[string]string{"signal": "mine\n", "faulthandler": "most recent call first"} {
		for _, model := range []string{"Runner", "Async"} {
			s := harness.Ready(t, harness.Options{
				Model: "own_signal.py:" + model, Env: []string{"BY=" + by}, Args: []string{"--cancel-grace", "1s"},
			})
			assert.Contains(t, "the logs", s.Succeed(harness.Input{}).Logs, text)
			worker := s.Worker()
			assert.Equal(t, by+", "+model, harness.CancelRunning(t, s, by+model, harness.Input{"wait": true}).Status, "canceled")
			harness.WaitWorkers(t, s, 1, 1)
			s.Succeed(harness.Input{})
			assert.True(t, s.Worker() != worker, "%s, %s: the worker is the same, want another", by, model)
		}
	}
}

var (
	swallows      = []string{"helper", "nested", "retrying", "suppressing", "guarding", "keeping", "converting", "computing"}
	cleanups      = []string{"handler", "final", "chained", "leaving", "after_helper", "closing", "named"}
	asyncSwallows = []string{"helper", "own", "retrying", "gathering", "child", "blocking"}
	asyncCleanups = []string{
		"handler", "final", "child", "gathering", "converting", "leaving", "after_helper", "iterating",
	}
)

// TestCancel_SwallowedByTheModelIsRepeated: code that catches every exception, for callers that never see it, gets it
// again long before the grace ends. Code that cleans up gets it once.
func TestCancel_SwallowedByTheModelIsRepeated(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, cancelSwallowed)
}

func cancelSwallowed(t *testing.T, python harness.Python) {
	t.Helper()
	for _, c := range []struct {
		model, kind, cleaning string
		swallows, cleanups    []string
		args                  []string
	}{
		{model: "Sync", kind: "Ways", cleaning: "Cleanups", swallows: swallows, cleanups: cleanups},
		{
			model: "Sync", kind: "Ways", cleaning: "Cleanups", swallows: swallows, cleanups: cleanups,
			args: []string{"--concurrency", "2"},
		},
		{model: "Batch", kind: "Ways", cleaning: "Cleanups", swallows: swallows[:2], cleanups: cleanups[:1]},
		{model: "Async", kind: "AsyncWays", cleaning: "AsyncCleanups", swallows: asyncSwallows, cleanups: asyncCleanups},
		{
			model: "AsyncBatch", kind: "AsyncWays", cleaning: "AsyncCleanups", swallows: asyncSwallows[:1],
			cleanups: asyncCleanups[:1],
		},
	} {
		s := harness.Ready(t, harness.Options{
			Python: python.Path, Model: "swallowing.py:" + c.model, Args: append(c.args, "--cancel-grace", "10m"),
		})
		worker := s.Worker()
		for _, how := range c.swallows {
			a := harness.CancelRunning(t, s, how, harness.Input{"how": c.kind + "." + how})
			assert.Equal(t, c.model+" "+how, a.Status, "canceled")
		}
		for _, how := range c.cleanups {
			a := harness.CancelRunning(t, s, "clean "+how, harness.Input{"how": c.cleaning + "." + how})
			assert.True(t, a.Status == "canceled" && a.Logs == "begun\nclean\n",
				"%s %s: got %s with the logs %q, want it to clean up", c.model, how, a, a.Logs)
		}
		assert.Equal(t, c.model+", afterwards", s.Succeed(harness.Input{"how": ""}).Text(t), "done")
		harness.SameWorker(t, s, worker)
	}
}
