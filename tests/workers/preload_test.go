package workers

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// preloaded serves preloaded.py with a preload process.
func preloaded(t testing.TB, o harness.Options) *harness.Server {
	t.Helper()
	if o.Model == "" {
		o.Model = "preloaded.py:Runner"
	}
	o.Args = append(o.Args, "--preload", "--queue", "8")
	o.Env = append(o.Env, "IMPORTS=imported.txt")
	return harness.Ready(t, o)
}

// preloadProcess is what health says of the preload process.
func preloadProcess(t testing.TB, s *harness.Server) harness.Preload {
	t.Helper()
	h := s.Health()
	assert.TrueNow(t, h.Preload != nil, "health has nothing of a preload process: %+v, want Preload non-nil", h)
	return *h.Preload
}

// imports fails unless the model was imported so often in all.
func imports(t testing.TB, s *harness.Server, n int) []string {
	t.Helper()
	by := harness.ModelLines(t, s, "imported.txt")
	assert.Equal(t, fmt.Sprintf("imports, by %v", by), len(by), n)
	return by
}

// oomScore is by how much the kernel prefers to end a process when memory is short.
func oomScore(t testing.TB, pid int) int {
	t.Helper()
	text := harness.ReadFile(t, fmt.Sprintf("/proc/%d/oom_score_adj", pid))
	return assert.Must(strconv.Atoi(strings.TrimSpace(text)))(t)
}

func TestPreload_ForkedWorkerSkipsImport(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		for _, model := range []string{"preloaded.py:Runner", "preloaded.py:Async"} {
			s := preloaded(t, harness.Options{Python: python.Path, Model: model, Args: []string{"--workers", "2"}})
			h := harness.WaitWorkers(t, s, 2, 0)
			for i := range 3 {
				worker := s.Worker()
				harness.SendSignal(t, worker, syscall.SIGKILL)
				h = harness.WaitWorkers(t, s, 2, i+1)
				assert.True(t, slices.Contains(harness.ModelLines(t, s, "set-up.txt"), strconv.Itoa(h.Workers[0].PID)) &&
					h.Workers[0].PID != worker, "the new worker is %+v, want Contains not false and PID not %d", h.Workers[0], worker)
				// A success on each, so that the deaths do not add up.
				seen := map[string]bool{}
				for try := 0; len(seen) < 2; try++ {
					first := s.Begin(fmt.Sprintf("a%d-%d", i, try), harness.Input{})
					second := s.Begin(fmt.Sprintf("b%d-%d", i, try), harness.Input{})
					seen[string(harness.Receive(t, first).Output)] = true
					seen[string(harness.Receive(t, second).Output)] = true
				}
			}
			assert.Equal(t, "what imported it", imports(t, s, 1)[0], strconv.Itoa(preloadProcess(t, s).PID))
			if got := preloadProcess(t, s); got.State != "ready" || got.Forked != 5 {
				t.Errorf("health says %+v of the preload process, want State ready and Forked 5", got)
			}
			assert.Contains(t, "setup's logs", h.Setup.Logs, "setting up\n")
			assert.False(t, strings.Contains(h.Setup.Logs, "import"),
				`what the preload process wrote is in a worker's setup logs: %q, want no "import" in it`, h.Setup.Logs)
			assert.Contains(t, "the server's log has not what the import wrote", s.WaitLog("importing").Raw, `"template":true`)
			s.Stop()
			assert.Equal(t, "processes in which atexit ran", len(harness.ModelLines(t, s, "left.txt")), 2)
		}
	})
}

func TestPreload_ForkedWorkerIsWorker(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		for _, model := range []string{"preloaded.py:Runner", "preloaded.py:Async"} {
			s := preloaded(t, harness.Options{Python: python.Path, Model: model})
			harness.EqualJSON(t, "place", s.Succeed(harness.Input{"what": "place"}).Output, fmt.Sprintf(
				`{"parent":%d,"group":true,"main":true,"threads":["MainThread"],"native":true,"argv":["preloaded.py"],
				"title":"pinion: worker","template":false}`, s.PID))
			got, least, others := oomScore(t, s.Worker()), oomScore(t, s.PID)+300, oomScore(t, preloadProcess(t, s).PID)
			assert.True(t, got >= least && got != others,
				"the worker's oom_score_adj is %d, want at least %d, and not the preload process's %d", got, least, others)
			assert.Equal(t, "logs", s.Succeed(harness.Input{"what": "speak"}).Logs, "to the descriptor\nto stdout\nto stderr\n")
			sleeping := s.Begin("sleeping", harness.Input{"what": "sleep"})
			s.WaitLog(fmt.Sprint("sleeping in ", s.Worker()))
			s.Cancel("sleeping")
			harness.WantStatus(t, "a canceled one", harness.Receive(t, sleeping), "canceled")
			harness.EqualJSON(t, "children", s.Succeed(harness.Input{"what": "children"}).Output,
				`[[0,1,4,9],[0,1,4,9],[0,1,4,9],"7\n","thread"]`)
			a := s.Fail(harness.Input{"what": "crash"})
			assert.Contains(t, "error", a.Error, "worker killed by SIGSEGV while running this prediction")
			assert.Contains(t, "logs", a.Logs, "Fatal Python error: Segmentation fault", "in crash")
			s.Succeed(harness.Input{})
			assert.Contains(t, "error", s.Fail(harness.Input{"what": "exit"}).Error,
				"worker exited with code 4 while running this prediction")
			s.Succeed(harness.Input{})
			worker := s.Worker()
			sleeping = s.Begin("killed", harness.Input{"what": "sleep"})
			s.WaitLog(fmt.Sprint("sleeping in ", worker))
			harness.SendSignal(t, worker, syscall.SIGKILL)
			assert.Contains(t, "error", harness.Receive(t, sleeping).Error,
				"worker killed (SIGKILL) while running this prediction")
			s.Succeed(harness.Input{})
			// The spawned processes import the model on their own.
			setUp := harness.ModelLines(t, s, "set-up.txt")
			assert.True(t, len(setUp) != 0, "got no worker was set up, want at least one")
			for _, pid := range setUp {
				assert.False(t, slices.Contains(harness.ModelLines(t, s, "imported.txt"), pid),
					"worker %s has imported the model, want it forked", pid)
			}
		}
	})
}

// TestPreload_ForkedWorkersDrawTheirOwnNumbers, while what the import drew is the same in all of them.
func TestPreload_ForkedWorkersDrawTheirOwnNumbers(t *testing.T) {
	t.Parallel()
	s := preloaded(t, harness.Options{})
	var first, second [2]float64
	s.Succeed(harness.Input{"what": "numbers"}).Decode(t, &first)
	harness.SendSignal(t, s.Worker(), syscall.SIGKILL)
	harness.WaitWorkers(t, s, 1, 1)
	s.Succeed(harness.Input{"what": "numbers"}).Decode(t, &second)
	assert.True(t, first[0] == second[0] && first[1] != second[1],
		"one worker drew %v, the next %v, want the same from the import and another in the worker", first, second)
}

func TestPreload_ForkedWorkersHaveTheirOwnGPUs(t *testing.T) {
	t.Parallel()
	s := preloaded(t, harness.Options{Args: []string{"--gpus", "1;2,3"}, Env: []string{"CUDA_VISIBLE_DEVICES=0"}})
	harness.WaitWorkers(t, s, 2, 0)
	seen, tries := map[string]bool{}, 0
	assert.Eventually(t, "both have answered", func() bool {
		tries++
		first := s.Begin(fmt.Sprint("a", tries), harness.Input{"what": "gpus"})
		second := s.Begin(fmt.Sprint("b", tries), harness.Input{"what": "gpus"})
		seen[string(harness.Receive(t, first).Output)] = true
		seen[string(harness.Receive(t, second).Output)] = true
		return len(seen) == 2
	})
	assert.True(t, seen[`"1"`] && seen[`"2,3"`], "they see %v, want seen[`\"1\"`] true and seen[`\"2,3\"`] true", seen)
	imports(t, s, 1)
}

func TestPreload_ReloadImportsChangedCodeOnce(t *testing.T) {
	t.Parallel()
	s := preloaded(t, harness.Options{Args: []string{"--workers", "2"}})
	harness.WaitWorkers(t, s, 2, 0)
	old := preloadProcess(t, s).PID
	editFile(t, filepath.Join(s.Dir, "preloaded.py"), "GENERATION = 1 ", "GENERATION = 2  #")
	harness.SendSignal(t, s.Worker(), syscall.SIGKILL) // the preload process has the code as it was
	harness.WaitWorkers(t, s, 2, 1)
	harness.EqualJSON(t, "before the reload", s.Succeed(harness.Input{"what": "generation"}).Output, `1`)
	s.Signal(syscall.SIGHUP)
	harness.WaitWorkers(t, s, 2, 3)
	for range 4 {
		harness.EqualJSON(t, "after the reload", s.Succeed(harness.Input{"what": "generation"}).Output, `2`)
	}
	imports(t, s, 2)
	if got := preloadProcess(t, s); got.State != "ready" || got.PID == old || harness.Alive(old) {
		t.Errorf("the preload process is %+v, want another than %d, which has ended", got, old)
	}
}

func editFile(t testing.TB, file, from, to string) {
	t.Helper()
	text := harness.ReadFile(t, file)
	changed := strings.Replace(text, from, to, 1)
	assert.TrueNow(t, changed != text, "%s has no %q: got %.300q, want anything but %q", file, from, changed, text)
	harness.WriteFile(t, file, changed)
}

// TestPreload_ProcessThatCannotForkIsRefused, and the model is served all the same.
func TestPreload_ProcessThatCannotForkIsRefused(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		for at, reason := range map[string]string{
			"thread":        "its import leaves 1 thread running (watcher)",
			"native thread": "its import leaves 1 thread running (1 of libc.so.6: tokio-rt)",
		} {
			s := preloaded(t, harness.Options{Python: python.Path, Env: []string{"AT_IMPORT=" + at}})
			s.Succeed(harness.Input{})
			got := preloadProcess(t, s)
			assert.True(t, got.State == "refused" && strings.Contains(got.Reason, reason) && got.PID == 0 && got.Forked == 0,
				"%s: health says %+v of the preload process, want State refused, Reason with %q, PID 0 and Forked 0", at, got,
				reason)
			line, _ := s.Log.First(func(l harness.Line) bool { return strings.Contains(l.Text, "no preload process") })
			assert.Equal(t, at+": line.Level", line.Level, "WARN")
			assert.Contains(t, at+": line.Raw", line.Raw, reason)
			imports(t, s, 2)
			assert.Equal(t, at+": processes of the server", len(s.Processes()), 2)
		}
	})
}

func TestPreload_ProcessWhoseThreadsHaveEndedIsNotRefused(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"passing thread", "thread that ends before a fork", "fork", "handle children"} {
		s := preloaded(t, harness.Options{Env: []string{"AT_IMPORT=" + at}})
		s.Succeed(harness.Input{})
		harness.SendSignal(t, s.Worker(), syscall.SIGKILL)
		s.Succeed(harness.Input{})
		if got := preloadProcess(t, s); got.State != "ready" || got.Forked != 2 {
			t.Errorf("%s: health says %+v of the preload process, want State ready and Forked 2", at, got)
		}
		imports(t, s, 1)
	}
}

func TestPreload_ProcessThatStartsAnotherIsRefused(t *testing.T) {
	t.Parallel()
	s := preloaded(t, harness.Options{Env: []string{"AT_IMPORT=process"}})
	s.Succeed(harness.Input{})
	wantPreload(t, s, "cat", "its import leaves other processes running (cat), which workers would share: start them in setup()")
}

func TestPreload_ProcessWithCUDAIsRefused(t *testing.T) {
	t.Parallel()
	library := harness.SharedLibrary(t, "libcuda.so.1", "../pyembed/cuda/testdata/fakecuda.c")
	s := preloaded(t, harness.Options{Env: []string{"AT_IMPORT=cuda", "FAKE_CUDA=" + library}})
	if got := preloadProcess(t, s); got.State != "refused" || !strings.Contains(got.Reason, "starts CUDA") {
		t.Errorf(`health says %+v of the preload process, want State refused and Reason with "starts CUDA"`, got)
	}
	s.Succeed(harness.Input{})
}

// TestPreload_ImportThatFailsIsReportedAsEver: by the worker, in its setup's logs.
func TestPreload_ImportThatFailsIsReportedAsEver(t *testing.T) {
	t.Parallel()
	for at, reason := range map[string]string{
		"raise": "its import raises RuntimeError: it cannot be imported today",
		"exit":  "exited with code 3 while it imported the model",
	} {
		s := harness.Start(t, harness.Options{
			Model: "preloaded.py:Runner", Args: []string{"--preload"}, Env: []string{"AT_IMPORT=" + at},
		})
		h := s.WaitHealth("SETUP_FAILED")
		if at == "raise" {
			assert.Contains(t, "setup's logs", h.Setup.Logs, "importing", "Traceback",
				"RuntimeError: it cannot be imported today")
		}
		if got := preloadProcess(t, s); got.State != "refused" || !strings.Contains(got.Reason, reason) {
			t.Errorf("%s: health says %+v of the preload process, want State refused and Reason with %q", at, got, reason)
		}
	}
}

func TestPreload_ProcessThatDiesIsReplaced(t *testing.T) {
	t.Parallel()
	s := preloaded(t, harness.Options{})
	worker, old := s.Worker(), preloadProcess(t, s).PID
	harness.SendSignal(t, old, syscall.SIGKILL)
	assert.Eventually(t, "there is another preload process", func() bool {
		got := preloadProcess(t, s)
		return got.State == "ready" && got.PID != old
	})
	harness.EqualJSON(t, "the worker", s.Succeed(harness.Input{}).Output, strconv.Itoa(worker))
	harness.SendSignal(t, worker, syscall.SIGKILL)
	s.Succeed(harness.Input{})
	assert.Equal(t, "forked workers", preloadProcess(t, s).Forked, 2)
	imports(t, s, 2)
}

// TestPreload_ProcessDoesNotOutliveItsServer in any state.
func TestPreload_ProcessDoesNotOutliveItsServer(t *testing.T) {
	t.Parallel()
	s := preloaded(t, harness.Options{})
	old, worker := preloadProcess(t, s).PID, s.Worker()
	s.Kill()
	assert.Eventually(t, "both end", func() bool { return !harness.Alive(old) && !harness.Alive(worker) })

	s = harness.Start(t, harness.Options{Model: "preloaded.py:Runner", Args: []string{"--preload"}})
	s.WaitLog("imported") // it is still at it
	s.Kill()

	s = harness.Start(t, harness.Options{Model: "preloaded.py:Runner", Args: []string{"--preload"}})
	s.WaitLog("imported")
	s.Stop()
	assert.Equal(t, "workers that were set up for a server that was to end", len(harness.ModelLines(t, s, "set-up.txt")),
		0)
}

func TestPreload_WithoutPreloadProcessHealthHasNone(t *testing.T) {
	t.Parallel()
	if os.Getenv("PINION_TEST_PRELOAD") != "" {
		t.Skip("all servers have one")
	}
	s := harness.Ready(t, harness.Options{Model: "preloaded.py:Runner", Env: []string{"IMPORTS=imported.txt"}})
	h := s.Health()
	assert.True(t, h.Preload == nil, "health says %+v", h.Preload)
	imports(t, s, 1)
}
