package api

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// moody is a model whose check hangs as often as its settings say.
const moody = `
import os

class Runner:
    checks = 0

    def healthcheck(self) -> bool:
        self.checks += 1
        if self.checks <= int(os.environ["HANGS"]):
            with open("gate") as gate:  # a named pipe that no process opens
                gate.read()
        return True

    def run(self) -> str:
        return "served"
`

func TestHealth_HealthcheckThatHangsOnceIsNotEndOfLaterOnes(t *testing.T) {
	t.Parallel()
	c := harness.NewFolder(t, "run.py", moody)
	harness.MakeFIFO(t, c, "gate")
	s := harness.Start(t, harness.Options{Dir: c, Env: []string{"HANGS=1"}})
	s.WaitLog("worker ready")
	assert.Equal(t, "while it hangs health", s.Health().Status, "UNHEALTHY")
	assert.Equal(t, "after that health", s.Health().Status, "READY")
	s.Succeed(harness.Input{})
}

// TestHealth_SetupTimesAreWrittenAsCogWritesThem: clients in Python before 3.11 read no Z.
func TestHealth_SetupTimesAreWrittenAsCogWritesThem(t *testing.T) {
	t.Parallel()
	setup := harness.Ready(t, harness.Options{Model: "echo.py:text"}).Health().Setup
	for _, at := range []string{setup.StartedAt, setup.CompletedAt} {
		_, err := time.Parse("2006-01-02T15:04:05.000000", strings.TrimSuffix(at, "+00:00"))
		assert.True(t, err == nil && strings.HasSuffix(at, "+00:00"), `setup has the time %q, want it to end in "+00:00"`, at)
	}
}

// TestHealth_HealthcheckThatAlwaysHangs is said to, and its threads do not pile up.
func TestHealth_HealthcheckThatAlwaysHangs(t *testing.T) {
	t.Parallel()
	c := harness.NewFolder(t, "run.py", moody)
	harness.MakeFIFO(t, c, "gate")
	s := harness.Start(t, harness.Options{Dir: c, Env: []string{"HANGS=1000"}})
	s.WaitLog("worker ready")
	for n := range 6 {
		want := "user-defined healthcheck timed out after 5.0 seconds"
		if n >= 4 {
			want = "4 user-defined healthchecks are still running"
		}
		a := s.Do("GET", "/health-check", nil)
		assert.True(t, strings.Contains(string(a.Body), want) && strings.Contains(string(a.Body), "UNHEALTHY"),
			`check %d: %s, want it with %q and with "UNHEALTHY"`, n, a, want)
	}
	s.Succeed(harness.Input{})
}

// TestHealth_LivenessEndsWithLastWorker, and not before; a failed setup is for somebody to read.
func TestHealth_LivenessEndsWithLastWorker(t *testing.T) {
	t.Parallel()
	livez := func(s *harness.Server) int { return s.Do("GET", "/livez", nil).Code }
	s := harness.Ready(t, harness.Options{Model: "echo.py:text", Args: []string{"--restart", "never", "--workers", "2"}})
	for _, code := range []int{200, 503} {
		worker := s.Worker0()
		for _, w := range s.Health().Workers {
			if w.PID != 0 {
				worker = w.PID
			}
		}
		harness.SendSignal(t, worker, syscall.SIGKILL)
		assert.Eventually(t, "the worker is gone", func() bool {
			for _, w := range s.Health().Workers {
				if w.PID == worker {
					return false
				}
			}
			return true
		})
		assert.Eventually(t, "liveness tells", func() bool { return livez(s) == code })
	}
	failed := harness.Start(t, harness.Options{
		Dir: harness.NewFolder(t, "run.py", "raise ValueError('no weights')\n"), Model: "run.py:run",
	})
	failed.WaitHealth("SETUP_FAILED")
	assert.Equal(t, "after a failed setup", livez(failed), 200)
}
