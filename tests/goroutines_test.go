package tests

import (
	"os"
	"regexp"
	"syscall"
	"testing"

	"pinion/tests/harness"
)

// createdBy is the line of a goroutine's dump that says what made it.
var createdBy = regexp.MustCompile(`(?m)^created by ([^\n]+?)( in goroutine \d+)?$`)

// goroutines starts a server, does something with it, and counts the front's goroutines by what made them: they stand
// in what Go writes on SIGQUIT, which ends it.
func goroutines(t *testing.T, o harness.Options, do func(*harness.Server)) map[string]int {
	t.Helper()
	o.Tmp = harness.ShortTempDir(t)
	s := harness.Ready(t, o)
	workersReady(t, s)
	do(s)
	s.CloseIdle()
	workersReady(t, s)
	s.Signal(syscall.SIGQUIT)
	s.Killed()
	counts := map[string]int{}
	for _, match := range createdBy.FindAllStringSubmatch(s.Log.String(), -1) {
		counts[match[1]]++
	}
	if len(counts) == 0 {
		t.Fatalf("no goroutine in %.2000s", s.Log.String())
	}
	_ = os.RemoveAll(o.Tmp) // it could not clean up
	return counts
}

// workersReady waits until no worker is being replaced.
func workersReady(t *testing.T, s *harness.Server) {
	t.Helper()
	harness.Eventually(t, "all workers are ready", func() bool {
		for _, worker := range s.Health().Workers {
			if worker.State != "ready" {
				return false
			}
		}
		return true
	})
}
