package workers

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// reviewed starts a model of the folder review.
func reviewed(t *testing.T, python, model string, args ...string) *harness.Server {
	t.Helper()
	dir := filepath.Join(harness.Models(t), "worker_faults")
	return harness.Ready(t, harness.Options{Python: python, Dir: dir, Model: model, Args: args})
}

// TestWorker_AnswerThatCannotBeSentFailsItsPrediction: what cannot be sent or described fails its prediction, not
// the worker.
func TestWorker_AnswerThatCannotBeSentFailsItsPrediction(t *testing.T) {
	t.Parallel()
	for _, model := range []string{"plain.py:Runner", "tasks.py:Runner"} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			s := reviewed(t, "", model)
			pid := s.Worker()
			assert.Contains(t, "error", s.Fail(harness.Input{"what": "huge_metric"}).Error, "100000 digits")
			assert.Contains(t, "error", s.Fail(harness.Input{"what": "unprintable"}).Error, "Unprintable")
			assert.Contains(t, "error", s.Fail(harness.Input{"what": "no_output"}).Error, "OutputError")
			s.Succeed(harness.Input{})
			if model == "plain.py:Runner" {
				unnamed := s.Fail(harness.Input{"what": "unnamed"})
				assert.Contains(t, "error", unnamed.Error, "Unnamed: <its message cannot be shown>")
				assert.Contains(t, "its log", unnamed.Logs, "Unnamed: ", "its traceback cannot be shown")
				assert.Contains(t, "error", s.Fail(harness.Input{"what": "huge_metric_and_error"}).Error,
					"ValueError: the model's own")
				assert.Contains(t, "error", s.Fail(harness.Input{"what": "stderr_that_exits"}).Error, "ValueError: unheard")
				s.Succeed(harness.Input{"what": "stderr_restored"})
				assert.Contains(t, "error", s.Fail(harness.Input{"what": "no_descriptors"}).Error, "Too many open files")
				s.Succeed(harness.Input{"what": "free_descriptors"})
			}
			harness.SameWorker(t, s, pid)
		})
	}
}

// TestWorker_CodeAfterPredictionBlocksIt: code that an answered prediction left behind keeps its worker from all else.
// The worker is replaced, though the calls that it does not take leave the queue before that is certain.
func TestWorker_CodeAfterPredictionBlocksIt(t *testing.T) {
	t.Parallel()
	s := reviewed(t, "", "tasks.py:Runner", "--hang-timeout", "2s", "--queue-timeout", "200ms")
	pid := s.Worker()
	s.Succeed(harness.Input{"what": "late_code"})
	assert.Eventually(t, "another worker answers", func() bool {
		return s.Create(map[string]any{"input": harness.Input{}}).Code == http.StatusOK && s.Worker() != pid
	})
}

// TestWorker_OnlyWorkerEndsItsLoop: asyncio lets some exceptions out of the loop, and models can stop it.
func TestWorker_OnlyWorkerEndsItsLoop(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		s := reviewed(t, python.Path, "tasks.py:Runner")
		pid := s.Worker()
		for _, what := range []string{"exit_in_task", "interrupt_in_task", "exit_in_callback", "stop_loop", "cancel_all"} {
			harness.EqualJSON(t, what, s.Succeed(harness.Input{"what": what}).Output, `"goes on"`)
		}
		harness.SameWorker(t, s, pid)
		s.Stop()
		if text := s.Log.String(); strings.Contains(text, "was destroyed") {
			t.Errorf("tasks were not ended, want no \"was destroyed\" in it:\n%s", text)
		}
	})
}

func TestWorker_ForkedChildrenOfAsyncModel(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		s := reviewed(t, python.Path, "tasks.py:Runner", "--concurrency", "2")
		harness.EqualJSON(t, "exit", s.Succeed(harness.Input{"what": "exit_in_child"}).Output, `5`)
		a := s.Succeed(harness.Input{"what": "raise_in_child"})
		harness.EqualJSON(t, "raise", a.Output, `1`)
		harness.EqualJSON(t, "print", s.Succeed(harness.Input{"what": "print_in_child"}).Output, `0`)
		s.WaitLog("from the child")
	})
}

func TestWorker_ForkedChildrenKeepTheirFiles(t *testing.T) {
	t.Parallel()
	s := reviewed(t, "", "plain.py:Runner")
	harness.EqualJSON(t, "lost files", s.Succeed(harness.Input{"what": "grandchild"}).Output, `"[]"`)
	a := s.Succeed(harness.Input{"what": "exit_with_a_message"})
	harness.EqualJSON(t, "exit code", a.Output, `1`)
	assert.Contains(t, "logs", a.Logs, "the child's last words\n")
}

func TestWorker_ChildOfImportIsNotSetUp(t *testing.T) {
	t.Parallel()
	s := reviewed(t, "", "importing.py:Runner")
	assert.Equal(t, "setup's logs", s.Health().Setup.Logs, "set up by the worker\n")
}

func TestSetup_FailsWithoutStderr(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(harness.Models(t), "worker_faults")
	s := harness.Start(t, harness.Options{Dir: dir, Model: "plain.py:SetupWithoutStderr"})
	s.WaitHealth("SETUP_FAILED")
	s.WaitLog("setup failed")
	assert.Contains(t, "log", s.Log.String(), "ValueError: setup's own")
}

// TestWorker_ReaderInCHoldsNoAnswerUp: flushing every stream of C would wait for the one that it reads.
func TestWorker_ReaderInCHoldsNoAnswerUp(t *testing.T) {
	t.Parallel()
	s := reviewed(t, "", "plain.py:Runner")
	harness.EqualJSON(t, "output", s.Succeed(harness.Input{"what": "read_from_c"}).Output, `"answered"`)
}

func TestWorker_TracebackFollowsWhatWasPrinted(t *testing.T) {
	t.Parallel()
	s := reviewed(t, "", "plain.py:Runner")
	for range 50 { // the order in which the front reads two pipes is anybody's guess
		assert.Contains(t, "logs", s.Fail(harness.Input{"what": "print_and_raise"}).Logs, "printed first\n", "Traceback",
			"raised last")
	}
}

func TestWorker_LoggersFromBeforeFollowPrediction(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		s := reviewed(t, python.Path, "tasks.py:Runner", "--concurrency", "2")
		first := s.Begin("one", harness.Input{"what": "log", "name": "one"})
		two := s.Begin("two", harness.Input{"what": "log", "name": "two"})
		for name, begun := range map[string]<-chan harness.Answer{"one": first, "two": two} {
			want := fmt.Sprintf("logged by %s\nprinted by %s\n", name, name)
			assert.Equal(t, "logs", harness.Receive(t, begun).Logs, want)
		}
	})
}

// TestWorker_AnswerDoesNotWaitForLoop: it leaves though another prediction, which it woke, blocks the loop.
func TestWorker_AnswerDoesNotWaitForLoop(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		s := reviewed(t, python.Path, "tasks.py:Runner", "--concurrency", "2")
		blocking := s.Begin("blocking", harness.Input{"what": "block_when_woken"})
		harness.WaitFile(t, filepath.Join(s.Dir, "waits"))
		waking := s.Begin("waking", harness.Input{"what": "wake", "name": "quick"})
		harness.EqualJSON(t, "output", harness.Receive(t, waking).Output, `"quick"`)
		harness.WriteFile(t, filepath.Join(s.Dir, "enough"), "")
		harness.Receive(t, blocking)
	})
}

func TestWorker_ContextIsOfOnePrediction(t *testing.T) {
	t.Parallel()
	s := reviewed(t, "", "plain.py:Runner")
	for range 3 {
		harness.EqualJSON(t, "context", s.Succeed(harness.Input{"what": "write_context"}).Output, `[]`)
	}
}

// TestWorker_NothingIsLeftAllocated counts the blocks of the C code.
func TestWorker_NothingIsLeftAllocated(t *testing.T) {
	t.Parallel()
	for _, model := range []string{"plain.py:Runner", "tasks.py:Runner"} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			s := reviewed(t, "", model)
			round := func() string {
				for range 20 {
					s.Succeed(harness.Input{})
					s.Fail(harness.Input{"what": "no_output"})
					s.Fail(harness.Input{"what": "stubborn"})
					s.Fail(harness.Input{"what": "huge_metric"})
				}
				return string(s.Succeed(harness.Input{"what": "memory"}).Output)
			}
			before, after := round(), round()
			assert.Equal(t, "the blocks", after, before)
		})
	}
}
