package workers

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// leftBy makes leaves.py leave something behind, and returns its words for what it left. die is what it then does.
func leftBy(t *testing.T, s *harness.Server, what, die string) []string {
	t.Helper()
	if die == "" {
		var left []string
		s.Succeed(harness.Input{"what": what}).Decode(t, &left)
		return left
	}
	a := s.Fail(harness.Input{"what": what, "die": die})
	return leftIn(t, a.Logs)
}

func leftIn(t *testing.T, logs string) []string {
	t.Helper()
	_, after, found := strings.Cut(logs, "left ")
	assert.TrueNow(t, found, "got %q, want what is left", logs)
	line, _, _ := strings.Cut(after, "\n")
	return strings.Fields(line)
}

// endsOfWorkers are the ways in which leaves.py's worker may end once it has left something behind.
func endsOfWorkers() map[string]func(t *testing.T, s *harness.Server, what string) []string {
	die := func(signal string) func(*testing.T, *harness.Server, string) []string {
		return func(t *testing.T, s *harness.Server, what string) []string { return leftBy(t, s, what, signal) }
	}
	after := func(end func(s *harness.Server)) func(*testing.T, *harness.Server, string) []string {
		return func(t *testing.T, s *harness.Server, what string) []string {
			left := leftBy(t, s, what, "")
			end(s)
			return left
		}
	}
	return map[string]func(t *testing.T, s *harness.Server, what string) []string{
		"segfault": die("SIGSEGV"),
		"SIGKILL":  die("SIGKILL"),
		"stop":     after(func(s *harness.Server) { s.Stop() }),
		"reload":   after(func(s *harness.Server) { s.Signal(syscall.SIGHUP) }),
		"cancel by kill": func(t *testing.T, s *harness.Server, what string) []string {
			answer := s.Begin("stubborn", harness.Input{"what": what, "die": "wait"})
			s.WaitLog("it is there")
			s.Cancel("stubborn")
			return leftIn(t, harness.Receive(t, answer).Logs)
		},
	}
}

// afterFrontKilled ends the server of leaves.py in a way that leaves it no time to end anything itself.
func afterFrontKilled(t *testing.T, s *harness.Server, what string) []string {
	left := leftBy(t, s, what, "")
	s.Kill()
	return left
}

func alive(t *testing.T, pid string) bool {
	t.Helper()
	n := assert.Must(strconv.Atoi(pid))(t)
	return harness.Alive(n)
}

func TestDescendants_EndWithTheirWorker(t *testing.T) {
	t.Parallel()
	ends := endsOfWorkers()
	ends["front killed"] = afterFrontKilled
	for _, args := range [][]string{nil, {"--preload"}, {"--workers", "2"}} {
		for name, end := range ends {
			t.Run(name+" "+strings.Join(args, " "), func(t *testing.T) {
				t.Parallel()
				s := harness.Ready(t, harness.Options{
					Model: "leaves.py", Args: append(args, "--cancel-grace", "100ms", "--queue", "9"),
				})
				left := end(t, s, "sessions")
				assert.EqualNow(t, fmt.Sprintf("%q", left), len(left), 7)
				for _, pid := range left {
					assert.Eventually(t, "process "+pid+" ends", func() bool { return !alive(t, pid) })
				}
			})
		}
	}
}

func TestDescendants_OfOtherWorkersLive(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "leaves.py", Args: []string{"--workers", "2", "--queue", "9"}})
	harness.WaitWorkers(t, s, 2, 0)
	answer := s.Begin("holds", harness.Input{"what": "sessions", "die": "wait"})
	s.WaitLog("it is there")
	other := leftBy(t, s, "sessions", "")
	for _, w := range s.Health().Workers {
		if w.Busy > 0 {
			harness.SendSignal(t, w.PID, syscall.SIGKILL)
		}
	}
	for _, pid := range leftIn(t, harness.Receive(t, answer).Logs) {
		assert.Eventually(t, "process "+pid+" ends", func() bool { return !alive(t, pid) })
	}
	harness.WaitWorkers(t, s, 2, 1) // so that nothing is being ended any more
	for _, pid := range other {
		assert.True(t, alive(t, pid), "process %s of the other worker has ended, want alive(t, pid) true", pid)
	}
}

func TestDescendants_EndWithPredict(t *testing.T) {
	t.Parallel()
	for _, die := range []string{"", "SIGKILL"} {
		cmd := exec.Command(harness.Binary(t), "predict", harness.Models(t), "--python", harness.AnyPython(t).Path,
			"--predictor", "leaves.py", "-i", "what=sessions", "-i", "die="+die)
		out, err := cmd.CombinedOutput()
		assert.TrueNow(t, (err == nil) == (die == ""), "got %v: %s, want %t", err, out, die == "")
		for _, pid := range leftIn(t, string(out)) {
			assert.False(t, alive(t, pid), "die %q: process %s has outlived the command, want alive(t, pid) false", die, pid)
		}
	}
}

func TestDescendants_EndWithTheirModel(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var models []string
	for _, name := range []string{"a", "b"} {
		harness.WriteFile(t, filepath.Join(dir, name, "run.py"), harness.ReadFile(t, "models/leaves.py"))
		models = append(models, name+"="+filepath.Join(dir, name))
	}
	s := harness.Start(t, harness.Options{
		Dir: dir, Models: models, Args: []string{"--reload", "--python", harness.AnyPython(t).Path},
	})
	harness.WaitModels(t, s)
	var a, b []string
	harness.PredictBy(s, "a", harness.Input{"what": "sessions"}).Decode(t, &a)
	harness.PredictBy(s, "b", harness.Input{"what": "sessions"}).Decode(t, &b)
	harness.WantCode(t, "unload", s.Do(http.MethodPost, "/models/a/unload", nil), http.StatusOK)
	for _, pid := range a {
		assert.False(t, alive(t, pid), "process %s has outlived its model, want alive(t, pid) false", pid)
	}
	for _, pid := range b {
		assert.True(t, alive(t, pid), "process %s of the other model has ended, want alive(t, pid) true", pid)
	}
}

// wantGone waits until names are gone from the folder of shared memory.
func wantGone(t *testing.T, names []string) {
	t.Helper()
	for _, name := range names {
		assert.Eventually(t, name+" is removed", func() bool {
			_, err := os.Stat(filepath.Join("/dev/shm", name))
			return os.IsNotExist(err)
		})
	}
}

func TestSharedMemory_IsRemovedWithItsWorker(t *testing.T) {
	t.Parallel()
	ends := endsOfWorkers()
	ends["front killed"] = afterFrontKilled
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := harness.Ready(t, harness.Options{Model: "leaves.py", Args: []string{"--cancel-grace", "100ms", "--queue", "9"}})
			wantGone(t, end(t, s, "shared"))
		})
	}
}

// TestSharedMemory_IsRemovedByTrackerThatStarts: a resource tracker is left to its work also while it starts, which takes
// long on a busy machine.
func TestSharedMemory_IsRemovedByTrackerThatStarts(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*testing.T, *harness.Server, string) []string{
		"SIGKILL": endsOfWorkers()["SIGKILL"], "front killed": afterFrontKilled,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := harness.Ready(t, harness.Options{Model: "leaves.py"})
			wantGone(t, end(t, s, "starting_tracker"))
		})
	}
}

// TestSharedMemory_IsRemovedByJoblib has the resource tracker of loky, and workers of another kind.
func TestSharedMemory_IsRemovedByJoblib(t *testing.T) {
	t.Parallel()
	python := harness.Python{Path: librariesPython(t)}
	for _, die := range []string{"SIGKILL", ""} {
		s := harness.Ready(t, harness.Options{Python: python.Path, Model: "leaves.py"})
		left := leftBy(t, s, "joblib", die)
		if die == "" {
			s.Stop()
		}
		wantGone(t, left)
	}
}
