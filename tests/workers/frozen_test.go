package workers

import (
	"syscall"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// freeze stops a process so that not even SIGKILL ends it; the function that it returns lets it go on.
func freeze(t *testing.T, pid int) (thaw func()) {
	t.Helper()
	if !harness.CanFreeze() {
		t.Skip("no process can be frozen here")
	}
	letGo := assert.Must(harness.Freeze(pid))(t)
	thaw = func() {
		err := letGo()
		assert.True(t, err == nil, "the frozen process is not gone: got %v, want no error", err)
	}
	t.Cleanup(thaw)
	return thaw
}

// frozenModel waits for a FIFO that is never opened.
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
	s = harness.Ready(t, harness.Options{Dir: harness.NewFolder(t, "run.py", frozenModel), Args: args})
	harness.MakeFIFO(t, s.Dir, "gate")
	answer = s.Begin("waits", harness.Input{"wait": true})
	s.WaitLog("waiting")
	return s, answer, freeze(t, s.Worker())
}

// TestFrozen_WorkerIsGivenUp: what it had begun fails, another takes its place, and its end is noticed when it comes.
func TestFrozen_WorkerIsGivenUp(t *testing.T) {
	t.Parallel()
	s, answer, thaw := frozen(t, "--hang-timeout", "1s", "--queue", "4")
	next := s.Begin("next", harness.Input{})
	a := harness.Receive(t, answer)
	harness.WantStatus(t, "the prediction of the frozen worker", a, "failed")
	assert.Contains(t, "error", a.Error, "killed by the server while running this prediction", "was given up")
	harness.WantStatus(t, "the next one", harness.Receive(t, next), "succeeded")
	assert.Equal(t, "workers were given up",
		harness.Scrape(t, s).Value("pinion_worker_exits_total", "cause", "unkillable"), 1)
	thaw()
	s.WaitLog("a worker's process that was given up has ended")
}

// TestFrozen_WorkerDoesNotHoldShutdown, in order or at once.
func TestFrozen_WorkerDoesNotHoldShutdown(t *testing.T) {
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
			s, _, thaw := frozen(t, "--hang-timeout", "0", "--grace", "1s", "--cancel-grace", "1s")
			for i, sig := range end.signals {
				if i > 0 {
					harness.WaitDrain(s)
				}
				s.Signal(sig)
			}
			s.Wait()
			thaw()
			s.Ended(end.code)
			_, found := s.Log.Find("a worker was killed and its process has not ended: it is given up")
			assert.True(t, found, "the log does not tell")
		})
	}
}

// TestFrozen_PreloadProcessIsGivenUp: workers are started the ordinary way, and the server ends.
func TestFrozen_PreloadProcessIsGivenUp(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Dir: harness.NewFolder(t, "run.py", frozenModel), Args: []string{"--preload"}})
	thaw := freeze(t, s.Health().Preload.PID)
	first := s.Succeed(harness.Input{}).Text(t)
	harness.SendSignal(t, s.Worker(), syscall.SIGKILL)
	assert.Eventually(t, "another worker answers", func() bool {
		a := s.Input(harness.Input{})
		return a.Status == "succeeded" && a.Text(t) != first
	})
	assert.Eventually(t, "there is another preload process", func() bool {
		p := s.Health().Preload
		return p != nil && p.State == "ready"
	})
	s.Signal(syscall.SIGTERM)
	s.Wait()
	thaw()
	s.Ended(0)
}

// TestFrozen_WorkerWithoutRestart leaves a server that says so.
func TestFrozen_WorkerWithoutRestart(t *testing.T) {
	t.Parallel()
	s, answer, thaw := frozen(t, "--hang-timeout", "1s", "--restart", "never")
	harness.WantStatus(t, "the prediction of the frozen worker", harness.Receive(t, answer), "failed")
	assert.Contains(t, "last exit", s.WaitHealth("DEFUNCT").Workers[0].LastExit, "was given up")
	thaw()
}
