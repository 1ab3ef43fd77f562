package harness

import (
	"os"
	"regexp"
	"syscall"
	"testing"

	"pinion/tests/assert"
)

// createdBy is the line of a goroutine's dump that says what made it.
var createdBy = regexp.MustCompile(`(?m)^created by ([^\n]+?)( in goroutine \d+)?$`)

// Goroutines starts a server, does something with it, and counts the front's goroutines by what made them: Go writes
// them on SIGQUIT, which ends the process.
func Goroutines(t *testing.T, o Options, do func(*Server)) map[string]int {
	t.Helper()
	o.Tmp = ShortTempDir(t)
	s := Ready(t, o)
	waitWorkersReady(t, s)
	do(s)
	s.CloseIdle()
	waitWorkersReady(t, s)
	s.Signal(syscall.SIGQUIT)
	s.Killed()
	counts := map[string]int{}
	for _, match := range createdBy.FindAllStringSubmatch(s.Log.String(), -1) {
		counts[match[1]]++
	}
	assert.TrueNow(t, len(counts) != 0, "got no goroutine in %.2000s, want at least one", s.Log.String())
	_ = os.RemoveAll(o.Tmp) // it could not clean up
	return counts
}

// waitWorkersReady waits until no worker is being replaced.
func waitWorkersReady(t *testing.T, s *Server) {
	t.Helper()
	assert.Eventually(t, "all workers are ready", func() bool {
		for _, worker := range s.Health().Workers {
			if worker.State != "ready" {
				return false
			}
		}
		return true
	})
}
