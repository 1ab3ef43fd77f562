package api

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
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
			fronts := assert.Must(os.ReadDir(fmt.Sprintf("/proc/%d/task", s.PID)))(t)
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

// TestShortageOfDisk_KeepsRoom: whichever way the bytes of clients come to the disk, 64 MiB of it stay free.
func TestShortageOfDisk_KeepsRoom(t *testing.T) {
	t.Parallel()
	const size, reserve = 30 << 20, 64 << 20
	content := strings.Repeat("x", size)
	from := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(content))
	}))
	t.Cleanup(from.Close)
	s := harness.Ready(t, harness.Options{
		Model: "filing.py:Runner",
		Wrap:  harness.InNamespaces(t, "--mount", "sh", "-c", `mount -t tmpfs -o size=144m none "${TMPDIR:-/tmp}" && exec "$@"`, "sh"),
	})
	free := func() int64 {
		var disk syscall.Statfs_t
		assert.NoError(t, syscall.Statfs(fmt.Sprintf("/proc/%d/root%s", s.PID, s.Tmp), &disk))
		return int64(disk.Bavail) * disk.Bsize
	}
	upload, uploadType := formOf(t, part{"content", "a.bin", content})
	form, formType := formOf(t, part{"file", "a.bin", content})
	for range 2 {
		harness.WantCode(t, "an upload", s.Do(http.MethodPost, "/v1/files", upload, "Content-Type", uploadType), 201)
	}
	const why = "the disk of temporary files has no room"
	for what, send := range map[string]func() harness.Answer{
		"an upload":  func() harness.Answer { return s.Do(http.MethodPost, "/v1/files", upload, "Content-Type", uploadType) },
		"a form":     func() harness.Answer { return s.Create(form, "Content-Type", formType) },
		"a download": func() harness.Answer { return s.Input(harness.Input{"file": from.URL}) },
		"a data URL": func() harness.Answer { return s.Input(harness.Input{"file": dataURL("", content)}) },
	} {
		a := send()
		assert.True(t, strings.Contains(string(a.Body), why), "%s: got %d %.300s, want %q", what, a.Code, a.Body, why)
		if strings.HasPrefix(string(a.Body), `{"detail"`) || a.Code >= 400 {
			assert.True(t, a.Code == 503 && a.Header.Get("Retry-After") != "", "%s: got %d, want 503 and a Retry-After", what, a.Code)
		}
		assert.True(t, free() >= reserve, "after %s %d bytes are free, want %d", what, free(), reserve)
	}
	assert.Eventually(t, "what was refused is removed", func() bool { return free() >= (144-60-1)<<20 })
}
