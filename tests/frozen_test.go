package tests

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"pinion/tests/harness"
)

// freeze stops a process so that not even SIGKILL ends it, as one is that waits in a driver; the function that it
// returns lets it go on. Only the first version of control groups has such a state.
func freeze(t *testing.T, pid int) (thaw func()) {
	t.Helper()
	group := filepath.Join("/sys/fs/cgroup/freezer", fmt.Sprintf("pinion-test-%d-%d", os.Getpid(), pid))
	if err := os.Mkdir(group, 0o700); err != nil {
		t.Skipf("no process can be frozen here: %v", err)
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(group, name), []byte(text), 0); err != nil {
			t.Errorf("write %s: %v", name, err)
		}
	}
	thawed := false
	thaw = func() {
		if !thawed {
			thawed = true
			write("freezer.state", "THAWED")
			harness.Eventually(t, "the frozen process is gone", func() bool { return os.Remove(group) == nil })
		}
	}
	t.Cleanup(thaw)
	write("cgroup.procs", strconv.Itoa(pid))
	write("freezer.state", "FROZEN")
	harness.Eventually(t, "the process is frozen", func() bool {
		state, err := os.ReadFile(filepath.Join(group, "freezer.state"))
		return err == nil && string(state) == "FROZEN\n"
	})
	return thaw
}

// frozenModel waits until somebody opens a FIFO that nobody opens.
const frozenModel = `
import os


def run(wait: bool = False) -> str:
    if wait:
        print("waiting")
        open("gate").read()
    return str(os.getpid())
`

// frozen is a server whose worker is frozen while it has a prediction.
func frozen(t *testing.T, args ...string) (s *harness.Server, answer <-chan harness.Answer, thaw func()) {
	t.Helper()
	s = harness.Ready(t, harness.Options{Dir: folder(t, "run.py", frozenModel), Args: args})
	makeFIFO(t, s.Dir, "gate")
	answer = s.Begin("waits", input{"wait": true})
	s.WaitLog("waiting")
	return s, answer, freeze(t, s.Worker())
}

// TestAFrozenWorkerIsGivenUp: what it had begun fails, another takes its place, and its end is noticed when it comes.
func TestAFrozenWorkerIsGivenUp(t *testing.T) {
	t.Parallel()
	s, answer, thaw := frozen(t, "--hang-timeout", "400ms", "--queue", "4")
	next := s.Begin("next", input{})
	a := harness.Receive(t, answer)
	if a.Status != "failed" {
		t.Errorf("the prediction of the frozen worker: %s", a)
	}
	wantText(t, "error", a.Error, "killed by the server while running this prediction", "was given up")
	if a := harness.Receive(t, next); a.Status != "succeeded" {
		t.Errorf("the next one: %s", a)
	}
	if got := scrape(t, s).value("pinion_worker_exits_total", "cause", "unkillable"); got != 1 {
		t.Errorf("%v workers were given up, want 1", got)
	}
	thaw()
	s.WaitLog("a worker's process that was given up has ended")
}

// TestAFrozenWorkerDoesNotHoldTheShutdown, in order or at once.
func TestAFrozenWorkerDoesNotHoldTheShutdown(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]struct {
		signals []syscall.Signal
		code    int
	}{
		"SIGTERM":      {[]syscall.Signal{syscall.SIGTERM}, 0},
		"SIGINT twice": {[]syscall.Signal{syscall.SIGINT, syscall.SIGINT}, 130},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _, thaw := frozen(t, "--hang-timeout", "0", "--grace", "300ms", "--cancel-grace", "300ms")
			for i, sig := range end.signals {
				if i > 0 {
					drainBegun(s)
				}
				s.Signal(sig)
			}
			s.Wait()
			thaw()
			s.Ended(end.code)
			if _, told := s.Log.Find("a worker was killed and its process has not ended: it is given up"); !told {
				t.Error("the log does not tell")
			}
		})
	}
}

// TestAFrozenTemplateIsGivenUp: workers are started as ever, and the server ends.
func TestAFrozenTemplateIsGivenUp(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Dir: folder(t, "run.py", frozenModel), Args: []string{"--preload"}})
	thaw := freeze(t, s.Health().Preload.PID)
	first := s.Succeed(input{}).Text(t)
	if err := syscall.Kill(s.Worker(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, "another worker answers", func() bool {
		a := s.Input(input{})
		return a.Status == "succeeded" && a.Text(t) != first
	})
	harness.Eventually(t, "there is another template", func() bool {
		p := s.Health().Preload
		return p != nil && p.State == "ready"
	})
	s.Signal(syscall.SIGTERM)
	s.Wait()
	thaw()
	s.Ended(0)
}
