package workers

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// meet is how many predictions of threaded.py wait for each other.
const meet = 4

// beginMeet begins that many predictions at once, with the tokens t0, t1, ….
func beginMeet(s *harness.Server, in harness.Input) (answers [meet]<-chan harness.Answer) {
	for i := range answers {
		input := harness.Input{"token": fmt.Sprint("t", i)}
		for name, value := range in {
			input[name] = value
		}
		answers[i] = s.Begin(fmt.Sprint("t", i, "-", in["how"]), input)
	}
	return answers
}

// waitBegun waits until the model has those predictions.
func waitBegun(t *testing.T, s *harness.Server, ids ...string) {
	t.Helper()
	for _, id := range ids {
		assert.Eventually(t, id+" begins", func() bool {
			_, begun := s.Log.First(func(l harness.Line) bool { return l.Text == "begun" && l.PredictionID == id })
			return begun
		})
	}
}

func threaded(t *testing.T, o harness.Options, args ...string) *harness.Server {
	t.Helper()
	if o.Model == "" {
		o.Model = "threaded.py:Runner"
	}
	o.Args = append(append(o.Args, "--concurrency", fmt.Sprint(meet)), args...)
	return harness.Ready(t, o)
}

// TestThreads_PredictionsKeepApart: what they print, also in threads and pools that they use, and what they record.
func TestThreads_PredictionsKeepApart(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		s := threaded(t, harness.Options{Python: python.Path})
		worker := s.Worker()
		for range 5 {
			for i, answer := range beginMeet(s, harness.Input{"how": "meet"}) {
				a, token := harness.Receive(t, answer), fmt.Sprint("t", i)
				harness.WantOutput(t, token, a, token+" "+token)
				want := fmt.Sprintf("begin %[1]s\nhalf %[1]s, thread %[1]s\npool %[1]s\nend %[1]s\n", token)
				assert.True(t, strings.ReplaceAll(a.Logs, ", \n", ", ") == want, "logs of %s are %q, want %q", token, a.Logs, want)
				for _, name := range []string{"token", "thread", "pool"} {
					assert.Equal(t, "metric "+name, a.Metrics[name], any(token))
				}
			}
		}
		assert.Equal(t, "threads that served", s.Succeed(harness.Input{"how": "count"}).Text(t), "4 False")
		harness.SameWorker(t, s, worker)
	})
}

func TestThreads_ItemsAndFilesAreOfTheirPrediction(t *testing.T) {
	t.Parallel()
	s := threaded(t, harness.Options{Model: "threaded.py:Stream"})
	for i, answer := range beginMeet(s, nil) {
		token := fmt.Sprint("t", i)
		a := harness.Receive(t, answer)
		harness.EqualJSON(t, token, a.Output, fmt.Sprintf(`["%[1]s 0","%[1]s 1","%[1]s 2"]`, token))
		assert.Equal(t, "logs of "+token, a.Logs, fmt.Sprintf("item 0 %[1]s\nitem 1 %[1]s\nitem 2 %[1]s\n", token))
	}
	files := threaded(t, harness.Options{Model: "threaded.py:Files"})
	data := base64.StdEncoding.EncodeToString([]byte("content"))
	for i, answer := range beginMeet(files, harness.Input{"file": "data:text/plain;base64," + data}) {
		text := harness.Receive(t, answer).Text(t)
		_, encoded, _ := strings.Cut(text, ",")
		got, _ := base64.StdEncoding.DecodeString(encoded)
		assert.Equal(t, "file", string(got), fmt.Sprint("content t", i))
	}
}

func TestThreads_StayWithTheirSlot(t *testing.T) {
	t.Parallel()
	s := threaded(t, harness.Options{})
	for round := 1; round <= 3; round++ {
		for i, answer := range beginMeet(s, harness.Input{"how": "kept"}) {
			harness.WantOutput(t, fmt.Sprint("t", i), harness.Receive(t, answer), fmt.Sprint(round))
		}
	}
	a := s.Fail(harness.Input{"how": "signals"})
	assert.Contains(t, "signal in a thread", a.Error, "signal only works in main thread")
	harness.WantOutput(t, "a fork", s.Input(harness.Input{"how": "fork", "token": "parent"}), "parent")
}

// TestThreads_CrashNamesItsPrediction: its own cause and traceback, and another cause for those beside it.
func TestThreads_CrashNamesItsPrediction(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		s := threaded(t, harness.Options{Python: python.Path}, "--queue", "9")
		for how, want := range map[string]string{
			"segfault": "worker killed by SIGSEGV", "segfault_in_thread": "worker killed by SIGSEGV",
			"abort": "worker killed by SIGABRT", "exit_3": "worker exited with code 3",
		} {
			var beside [2]<-chan harness.Answer
			for i := range beside {
				beside[i] = s.Begin(fmt.Sprint(how, i), harness.Input{"how": "sleep"})
			}
			waitBegun(t, s, how+"0", how+"1")
			a := s.Fail(harness.Input{"how": how})
			assert.Contains(t, how, a.Error, want)
			if strings.HasPrefix(how, "segfault") {
				assert.Contains(t, how, a.Logs, "Fatal Python error: Segmentation fault")
			}
			if how == "segfault" {
				assert.Contains(t, how, a.Logs, "threaded.py")
			}
			for _, answer := range beside {
				other := harness.Receive(t, answer)
				assert.Equal(t, "beside "+how, other.Error, "the worker died: another prediction crashed it")
				assert.Equal(t, "logs beside "+how, other.Logs, "begun\n")
			}
			s.Succeed(harness.Input{}) // so that the next death is the first one again
		}
		// Nothing tells whose fault a SIGKILL is.
		other := s.Begin("other", harness.Input{"how": "sleep"})
		waitBegun(t, s, "other")
		a := s.Fail(harness.Input{"how": "killed"})
		assert.Contains(t, "killed", a.Error, "worker killed (SIGKILL)")
		assert.Equal(t, "beside a kill", harness.Receive(t, other).Error, a.Error)
	})
}

// TestThreads_IsolateRunsTheOthersOfACrashAgain, each alone.
func TestThreads_IsolateRunsTheOthersOfACrashAgain(t *testing.T) {
	t.Parallel()
	s := threaded(t, harness.Options{Model: "threaded.py:Isolated"}, "--queue", "9")
	harness.MakeFIFO(t, s.Dir, "gate")
	var beside [2]<-chan harness.Answer
	for i := range beside {
		beside[i] = s.Begin(fmt.Sprint("beside", i), harness.Input{"token": fmt.Sprint("beside", i), "gate": "gate"})
		s.WaitLog(fmt.Sprint("waiting beside", i))
	}
	worker := s.Worker()
	gate := filepath.Join(s.Dir, "gate")
	assert.NoError(t, os.Rename(gate, gate+".old"))
	harness.WriteFile(t, gate, "") // open for the next run
	assert.Contains(t, "crash", s.Fail(harness.Input{"how": "segfault", "token": "crash"}).Error, "SIGSEGV")
	for i, answer := range beside {
		a := harness.Receive(t, answer)
		harness.WantStatus(t, "beside", a, "succeeded")
		if text := a.Text(t); strings.HasPrefix(text, fmt.Sprint(worker)) {
			t.Errorf("beside%d was answered %q by the worker that died, want no %q at its start", i, text, fmt.Sprint(worker))
		}
	}
	counts := map[string]int{}
	for line := range strings.Lines(harness.ReadFile(t, filepath.Join(s.Dir, "ran.txt"))) {
		counts[strings.TrimSpace(line)]++
	}
	assert.Equal(t, "runs", fmt.Sprint(counts), "map[beside0:2 beside1:2 crash:1]")
}

// TestThreads_StuckOneDoesNotHurtTheOthers: its client is answered after the grace, the others end, a successor starts.
func TestThreads_StuckOneDoesNotHurtTheOthers(t *testing.T) {
	t.Parallel()
	s := threaded(t, harness.Options{}, "--cancel-grace", "500ms", "--queue", "9")
	worker := s.Worker()
	open, beside := harness.BeginAtGate(t, s, harness.Input{"token": "beside"})
	stuck := harness.CancelRunning(t, s, "stuck", harness.Input{"how": "stuck"})
	assert.Equal(t, "status", string(stuck.Status), "canceled")
	after := s.Succeed(harness.Input{"token": "after"}).Text(t)
	assert.False(t, strings.HasPrefix(after, fmt.Sprint(worker)),
		"got %q from the worker with a stuck thread, want it from its successor", after)
	open()
	harness.WantOutput(t, "beside", harness.Receive(t, beside), fmt.Sprint(worker, " beside"))
	assert.Eventually(t, "the end of the old worker", func() bool { return !harness.Alive(worker) })
	assert.Eventually(t, "the cause of its end", func() bool {
		return strings.Contains(s.Health().Workers[0].LastExit, "a canceled prediction did not end within 500ms") &&
			strings.Contains(string(s.Do(http.MethodGet, "/metrics", nil).Body), `pinion_worker_exits_total{cause="cancel"} 1`)
	})
}

// TestThreads_GILHeldForeverEndsTheWorker after the grace: none of its predictions goes on.
func TestThreads_GILHeldForeverEndsTheWorker(t *testing.T) {
	t.Parallel()
	s := threaded(t, harness.Options{}, "--cancel-grace", "500ms", "--queue", "9")
	worker := s.Worker()
	a := harness.CancelRunning(t, s, "hog", harness.Input{"how": "hog"})
	assert.Equal(t, "status", string(a.Status), "canceled")
	harness.WantStatus(t, "after", s.Input(harness.Input{}), "succeeded")
	assert.True(t, s.Worker() != worker, "got the same worker, want another one")
}

func TestThreads_FreeSlotThatTakesNothingIsAHang(t *testing.T) {
	t.Parallel()
	if harness.AnyPython(t).FreeThreaded {
		t.Skip("a thread that holds the GIL keeps no other one from its prediction where there is none")
	}
	s := threaded(t, harness.Options{}, "--hang-timeout", "1s", "--queue", "9")
	hog := s.Begin("hog", harness.Input{"how": "hog"})
	waitBegun(t, s, "hog")
	assert.Contains(t, "second", s.Input(harness.Input{"token": "second"}).Text(t), "second")
	assert.Contains(t, "hog", harness.Receive(t, hog).Error, "has not taken a prediction for 1s")
}

func TestThreads_TrainingHasItsWorkerToItself(t *testing.T) {
	t.Parallel()
	dir := harness.Models(t)
	harness.WriteFile(t, filepath.Join(dir, "cog.yaml"), "run: threaded.py:Trained\ntrain: threaded.py:train\n")
	s := harness.Ready(t, harness.Options{Dir: dir, Args: []string{"--concurrency", "4", "--queue", "99"}})
	open, first := harness.BeginAtGate(t, s, harness.Input{"token": "first"})
	harness.WantCode(t, "training", s.Do(http.MethodPut, "/trainings/training",
		map[string]any{"input": map[string]any{"n": 200}}, "Prefer", "respond-async"), http.StatusAccepted)
	var after [9]<-chan harness.Answer
	for i := range after {
		after[i] = s.Begin(fmt.Sprint("after", i), harness.Input{"token": fmt.Sprint("after", i)})
	}
	open()
	harness.WantOutput(t, "before", harness.Receive(t, first), "first")
	var training harness.Answer
	assert.Eventually(t, "the training ends", func() bool {
		training = s.Do(http.MethodGet, "/trainings/training", nil)
		return training.Status == "succeeded"
	})
	harness.EqualJSON(t, "output of the training", training.Output, `"beside 0"`)
	for i, answer := range after {
		harness.WantOutput(t, "after", harness.Receive(t, answer), fmt.Sprint("after", i))
	}
}

func TestThreads_WorkerWithLeastWorkGetsTheNext(t *testing.T) {
	t.Parallel()
	s := threaded(t, harness.Options{}, "--workers", "2")
	assert.Eventually(t, "two workers", func() bool {
		workers := s.Health().Workers
		return len(workers) == 2 && workers[0].State == "ready" && workers[1].State == "ready"
	})
	harness.MakeFIFO(t, s.Dir, "gate")
	var answers [4]<-chan harness.Answer
	for i := range answers {
		token := fmt.Sprint("n", i)
		answers[i] = s.Begin(token, harness.Input{"token": token, "gate": "gate"})
		s.WaitLog("waiting " + token)
	}
	counts := map[string]int{}
	for _, answer := range answers {
		var a harness.Answer
		assert.Eventually(t, "an answer", func() bool {
			harness.OpenFIFO(filepath.Join(s.Dir, "gate"))
			select {
			case a = <-answer:
				return true
			default:
				return false
			}
		})
		pid, _, _ := strings.Cut(a.Text(t), " ")
		counts[pid]++
	}
	for pid, n := range counts {
		assert.Equal(t, "predictions of worker "+pid, n, 2)
	}
}

func TestThreads_StartAfterTheForkOfThePreloadProcess(t *testing.T) {
	t.Parallel()
	s := threaded(t, harness.Options{}, "--preload")
	for i, answer := range beginMeet(s, harness.Input{"how": "meet"}) {
		token := fmt.Sprint("t", i)
		harness.WantOutput(t, token, harness.Receive(t, answer), token+" "+token)
	}
	a := harness.CancelRunning(t, s, "sleep", harness.Input{"how": "sleep"})
	assert.Equal(t, "status", string(a.Status), "canceled")
}

func TestThreads_WrongNumbersAreRefused(t *testing.T) {
	t.Parallel()
	harness.WantRefused(t, harness.Options{Model: "threaded.py:Runner", Args: []string{"--concurrency", "0"}}, 2,
		"--concurrency 0: must be at least 1")
	for model, c := range map[string][2]string{
		"threaded.py:Runner": {"257", "a worker has at most 256"},
		"batches.py:Runner":  {"2", "cannot be combined with @cog.batch"},
	} {
		s := harness.Start(t, harness.Options{Model: model, Args: []string{"--concurrency", c[0]}})
		assert.Contains(t, model, s.WaitHealth("SETUP_FAILED").Setup.Logs, c[1])
	}
}

// TestThreads_SlowPredictionHoldsUpNoOther: short ones share a slot, and leave it when one there takes longer.
func TestThreads_SlowPredictionHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	s := threaded(t, harness.Options{}, "--queue", "99")
	for range 50 {
		s.Succeed(harness.Input{}) // it learns that they are short
	}
	open, slow := harness.BeginAtGate(t, s, harness.Input{"token": "slow"})
	var answers [20]<-chan harness.Answer
	for i := range answers {
		answers[i] = s.Begin(fmt.Sprint("n", i), harness.Input{})
	}
	for i, answer := range answers {
		harness.WantStatus(t, fmt.Sprint("n", i), harness.Receive(t, answer), "succeeded")
	}
	open()
	harness.WantStatus(t, "slow", harness.Receive(t, slow), "succeeded")
}

const stackModel = `import ctypes
from cog import BaseRunner


class Runner(BaseRunner):
    def run(self) -> int:
        """Return the size of the running thread's stack, in KiB."""
        libc = ctypes.CDLL(None)
        libc.pthread_self.restype = ctypes.c_ulong
        attributes = ctypes.create_string_buffer(256)
        assert libc.pthread_getattr_np(ctypes.c_ulong(libc.pthread_self()), attributes) == 0
        start, size = ctypes.c_void_p(), ctypes.c_size_t()
        assert libc.pthread_attr_getstack(attributes, ctypes.byref(start), ctypes.byref(size)) == 0
        libc.pthread_attr_destroy(attributes)
        return size.value >> 10
`

// TestThreads_StackIsAsLargeAsThatOfTheMainThread, which has 8 MiB where ulimit sets no limit.
func TestThreads_StackIsAsLargeAsThatOfTheMainThread(t *testing.T) {
	t.Parallel()
	for limit, want := range map[string]string{"2048": "2048", "65536": "65536", "unlimited": "8192"} {
		set := "ulimit -S -s " + limit
		if exec.CommandContext(t.Context(), "sh", "-c", set).Run() != nil {
			continue // the hard limit is lower
		}
		s := harness.Ready(t, harness.Options{
			Dir: harness.NewFolder(t, "run.py", stackModel), Model: "run.py:Runner", Args: []string{"--concurrency", "2"},
			Wrap: []string{"sh", "-c", set + ` && exec "$@"`, "sh"},
		})
		harness.EqualJSON(t, "KiB of stack where the limit is "+limit, s.Succeed(harness.Input{}).Output, want)
	}
}
