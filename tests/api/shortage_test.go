package api

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"syscall"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

func TestShortageOfDescriptors_IsWaitedOut(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{"one worker": nil, "preloaded": {"--preload"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := harness.Ready(t, harness.Options{Model: "dying.py", Args: append(args, "--queue", "5")})
			s.Succeed(harness.Input{})
			end := harness.EndDescriptors(t, s.PID)
			harness.SendSignal(t, s.Worker(), syscall.SIGKILL)
			if len(args) > 0 {
				harness.SendSignal(t, s.Health().Preload.PID, syscall.SIGKILL)
			}
			a := harness.WaitShortage(t, s, "too many open files")
			harness.WantCode(t, "during the shortage", a, http.StatusServiceUnavailable)
			assert.True(t, a.Header.Get("Retry-After") != "", "got no Retry-After: %s, want Retry-After non-empty", a)
			harness.WantCode(t, "liveness", s.Do(http.MethodGet, "/livez", nil), http.StatusOK)
			end()
			s.WaitHealth("READY")
			s.Succeed(harness.Input{})
			if len(args) > 0 {
				assert.Eventually(t, "there is a preload process again",
					func() bool { return s.Health().Preload.State == "ready" })
			}
		})
	}
}

// TestShortageOfProcesses_IsWaitedOut: a worker cannot be forked, or can and finds no threads for Go, Python or itself.
func TestShortageOfProcesses_IsWaitedOut(t *testing.T) {
	t.Parallel()
	harness.Full(t)
	for _, threads := range []int{0, 2, 4, 6} { // for the worker
		t.Run(strconv.Itoa(threads), func(t *testing.T) {
			t.Parallel()
			limit, enter, ok := harness.ProcessGroup(t)
			if !ok {
				t.Skip("no control group can be made")
			}
			allow := func(what string) { assert.NoError(t, os.WriteFile(limit, []byte(what), 0)) }
			s := harness.Ready(t, harness.Options{Model: "dying.py", Wrap: enter})
			// The front itself needs no more threads then: Go keeps those that it has had.
			harness.RunClients(t, 50, func(int) error {
				for range 20 {
					if a := s.Do(http.MethodGet, "/metrics", nil); a.Err != nil {
						return a.Err
					}
				}
				return nil
			})
			fronts, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", s.PID))
			assert.NoError(t, err)
			allow(strconv.Itoa(len(fronts) + threads)) // those that there are may stay
			harness.SendSignal(t, s.Worker(), syscall.SIGKILL)
			// As many as would have ended a server whose model dies.
			assert.Eventually(t, "five starts have failed", func() bool {
				h := s.Health()
				if h.Status == "DEFUNCT" || h.Setup.Status == "failed" {
					t.Fatalf("got status %s and setup %s, want STARTING: %s", h.Status, h.Setup.Status, h.Workers[0].LastExit)
				}
				return s.Log.Count("worker not started: the server tries again") >= 5
			})
			assert.Contains(t, "the last", s.Health().Workers[0].LastExit, "resource temporarily unavailable")
			allow("max")
			s.WaitHealth("READY")
			s.Succeed(harness.Input{})
		})
	}
}
