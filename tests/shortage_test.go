package tests

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"pinion/tests/harness"
)

// endDescriptors leaves a server only those descriptors that it opened before its worker's, and returns how to end
// that. An open connection goes on.
func endDescriptors(t *testing.T, pid int) (end func()) {
	t.Helper()
	folder := fmt.Sprintf("/proc/%d/fd", pid)
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	page := -1
	for _, e := range entries {
		n, _ := strconv.Atoi(e.Name())
		if target, _ := os.Readlink(filepath.Join(folder, e.Name())); strings.HasPrefix(target, "/memfd:pinion-page") &&
			(page < 0 || n < page) {
			page = n
		}
	}
	if page < 0 {
		t.Fatal("got no shared page among the server's descriptors")
	}
	var old unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &old); err != nil {
		t.Fatal(err)
	}
	limit := unix.Rlimit{Cur: uint64(page), Max: old.Max}
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, &limit, nil); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, &old, nil); err != nil {
			t.Fatal(err)
		}
	}
}

func TestShortageOfDescriptors_IsWaitedOut(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{"one worker": nil, "preloaded": {"--preload"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := harness.Ready(t, harness.Options{Model: "dying.py", Args: append(args, "--queue", "5")})
			s.Succeed(input{})
			end := endDescriptors(t, s.PID)
			kill(t, s.Worker(), syscall.SIGKILL)
			if len(args) > 0 {
				kill(t, s.Health().Preload.PID, syscall.SIGKILL)
			}
			var h harness.Health
			harness.Eventually(t, "the shortage is shown", func() bool {
				h = s.Health()
				return h.Workers[0].NextStart != "" && strings.Contains(h.Workers[0].LastExit, "too many open files")
			})
			if h.Status != "STARTING" || h.Setup.Status == "failed" {
				t.Errorf("got status %s and setup %s, want STARTING", h.Status, h.Setup.Status)
			}
			var a harness.Answer
			harness.Eventually(t, "predictions are refused with the cause", func() bool {
				a = s.Input(input{})
				return strings.Contains(string(a.Body), "No worker can be started")
			})
			wantCode(t, "during the shortage", a, http.StatusServiceUnavailable)
			if a.Header.Get("Retry-After") == "" {
				t.Errorf("got no Retry-After: %s", a)
			}
			wantCode(t, "liveness", s.Do(http.MethodGet, "/livez", nil), http.StatusOK)
			end()
			s.WaitHealth("READY")
			s.Succeed(input{})
			if len(args) > 0 {
				harness.Eventually(t, "there is a preload process again",
					func() bool { return s.Health().Preload.State == "ready" })
			}
		})
	}
}
