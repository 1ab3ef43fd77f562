package tests

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pinion/tests/harness"
)

// reviewed starts a model of the folder review.
func reviewed(t *testing.T, python, model string, args ...string) *harness.Server {
	t.Helper()
	dir := filepath.Join(harness.Models(t), "review")
	return harness.Ready(t, harness.Options{Python: python, Dir: dir, Model: model, Args: args})
}

// sameWorker fails if the worker died meanwhile.
func sameWorker(t *testing.T, s *harness.Server, pid int) {
	t.Helper()
	same(t, "the worker, which may have died", s.Worker(), pid)
}

// TestAnAnswerThatCannotBeSentFailsItsPrediction: what cannot be sent or described fails its prediction, not the
// worker.
func TestAnAnswerThatCannotBeSentFailsItsPrediction(t *testing.T) {
	t.Parallel()
	for _, model := range []string{"plain.py:Runner", "tasks.py:Runner"} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			s := reviewed(t, "", model)
			pid := s.Worker()
			wantText(t, "error", s.Fail(input{"what": "huge_metric"}).Error, "100000 digits")
			wantText(t, "error", s.Fail(input{"what": "unprintable"}).Error, "Unprintable")
			wantText(t, "error", s.Fail(input{"what": "no_output"}).Error, "OutputError")
			s.Succeed(input{})
			if model == "plain.py:Runner" {
				wantText(t, "error", s.Fail(input{"what": "huge_metric_and_error"}).Error, "ValueError: the model's own")
				wantText(t, "error", s.Fail(input{"what": "stderr_that_exits"}).Error, "ValueError: unheard")
				s.Succeed(input{"what": "stderr_restored"})
				wantText(t, "error", s.Fail(input{"what": "no_descriptors"}).Error, "Too many open files")
				s.Succeed(input{"what": "free_descriptors"})
			}
			sameWorker(t, s, pid)
		})
	}
}

// TestOnlyTheWorkerEndsItsLoop: asyncio lets some exceptions out of the loop, and models can stop it.
func TestOnlyTheWorkerEndsItsLoop(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		s := reviewed(t, python.Path, "tasks.py:Runner")
		pid := s.Worker()
		for _, what := range []string{"exit_in_task", "interrupt_in_task", "exit_in_callback", "stop_loop", "cancel_all"} {
			sameJSON(t, what, s.Succeed(input{"what": what}).Output, `"goes on"`)
		}
		sameWorker(t, s, pid)
		s.Stop()
		if text := s.Log.String(); strings.Contains(text, "was destroyed") {
			t.Errorf("tasks were not ended:\n%s", text)
		}
	})
}

func TestForkedChildrenOfAnAsyncModel(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		s := reviewed(t, python.Path, "tasks.py:Runner", "--concurrency", "2")
		sameJSON(t, "exit", s.Succeed(input{"what": "exit_in_child"}).Output, `5`)
		a := s.Succeed(input{"what": "raise_in_child"})
		sameJSON(t, "raise", a.Output, `1`)
		sameJSON(t, "print", s.Succeed(input{"what": "print_in_child"}).Output, `0`)
		s.WaitLog("from the child")
	})
}

func TestForkedChildrenKeepTheirFiles(t *testing.T) {
	t.Parallel()
	s := reviewed(t, "", "plain.py:Runner")
	sameJSON(t, "lost files", s.Succeed(input{"what": "grandchild"}).Output, `"[]"`)
	a := s.Succeed(input{"what": "exit_with_a_message"})
	sameJSON(t, "exit code", a.Output, `1`)
	wantText(t, "logs", a.Logs, "the child's last words\n")
}

func TestAChildOfTheImportIsNotSetUp(t *testing.T) {
	t.Parallel()
	s := reviewed(t, "", "importing.py:Runner")
	same(t, "setup's logs", s.Health().Setup.Logs, "set up by the worker\n")
}

func TestSetupFailsWithoutStderr(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(harness.Models(t), "review")
	s := harness.Start(t, harness.Options{Dir: dir, Model: "plain.py:SetupWithoutStderr"})
	s.WaitHealth("SETUP_FAILED")
	s.WaitLog("setup failed")
	wantText(t, "log", s.Log.String(), "ValueError: setup's own")
}

// TestAReaderInCHoldsNoAnswerUp: flushing every stream of C would wait for the one that it reads.
func TestAReaderInCHoldsNoAnswerUp(t *testing.T) {
	t.Parallel()
	s := reviewed(t, "", "plain.py:Runner")
	sameJSON(t, "output", s.Succeed(input{"what": "read_from_c"}).Output, `"answered"`)
}

func TestATracebackFollowsWhatWasPrinted(t *testing.T) {
	t.Parallel()
	s := reviewed(t, "", "plain.py:Runner")
	for range 50 { // the order in which the front reads two pipes is anybody's guess
		wantText(t, "logs", s.Fail(input{"what": "print_and_raise"}).Logs, "printed first\n", "Traceback", "raised last")
	}
}

func TestLoggersFromBeforeFollowThePrediction(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		s := reviewed(t, python.Path, "tasks.py:Runner", "--concurrency", "2")
		one := s.Begin("one", input{"what": "log", "name": "one"})
		two := s.Begin("two", input{"what": "log", "name": "two"})
		for name, begun := range map[string]<-chan harness.Answer{"one": one, "two": two} {
			want := fmt.Sprintf("logged by %s\nprinted by %s\n", name, name)
			same(t, "logs", harness.Receive(t, begun).Logs, want)
		}
	})
}

// TestAnAnswerDoesNotWaitForTheLoop: it leaves though another prediction, which it woke, blocks the loop.
func TestAnAnswerDoesNotWaitForTheLoop(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		s := reviewed(t, python.Path, "tasks.py:Runner", "--concurrency", "2")
		blocking := s.Begin("blocking", input{"what": "block_when_woken"})
		harness.Eventually(t, "it waits", func() bool {
			_, err := os.Stat(filepath.Join(s.Dir, "waits"))
			return err == nil
		})
		waking := s.Begin("waking", input{"what": "wake", "name": "quick"})
		sameJSON(t, "output", harness.Receive(t, waking).Output, `"quick"`)
		writeFile(t, filepath.Join(s.Dir, "enough"), "")
		harness.Receive(t, blocking)
	})
}

func TestAContextIsOfOnePrediction(t *testing.T) {
	t.Parallel()
	s := reviewed(t, "", "plain.py:Runner")
	for range 3 {
		sameJSON(t, "context", s.Succeed(input{"what": "write_context"}).Output, `[]`)
	}
}

// TestNothingIsLeftAllocated counts the blocks of the C code.
func TestNothingIsLeftAllocated(t *testing.T) {
	t.Parallel()
	for _, model := range []string{"plain.py:Runner", "tasks.py:Runner"} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			s := reviewed(t, "", model)
			round := func() string {
				for range 20 {
					s.Succeed(input{})
					s.Fail(input{"what": "no_output"})
					s.Fail(input{"what": "stubborn"})
					s.Fail(input{"what": "huge_metric"})
				}
				return string(s.Succeed(input{"what": "memory"}).Output)
			}
			before, after := round(), round()
			same(t, "the blocks", after, before)
		})
	}
}
