package workers

import (
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// fromCopy serves the fleet's model by a copy of the binary, which the test may replace.
func fromCopy(t *testing.T, args ...string) (s *harness.Server, binary string) {
	t.Helper()
	binary = filepath.Join(t.TempDir(), "pinion")
	harness.CopyFile(t, harness.Binary(t), binary)
	return fleet(t, harness.Options{Args: args, Binary: binary}), binary
}

// replaceWorker kills the worker and waits until another answers.
func replaceWorker(t *testing.T, s *harness.Server) {
	t.Helper()
	var before int // a reload may be between two workers
	assert.Eventually(t, "a worker is killed", func() bool {
		before = s.Worker0()
		return before != 0 && syscall.Kill(before, syscall.SIGKILL) == nil
	})
	// A reload may still be under way, so that what is ready now is not what is ready next.
	assert.Eventually(t, "another worker answers", func() bool {
		h := s.Health()
		return len(h.Workers) > 0 && h.Workers[0].PID != before && s.Input(harness.Input{}).Status == "succeeded"
	})
}

// TestReplaced_BinaryIsReplaced under a running server: workers are started from the running one, and a reload logs it.
func TestReplaced_BinaryIsReplaced(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{"workers": {"--reload"}, "forked": {"--reload", "--preload"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, binary := fromCopy(t, args...)
			reload := func() string {
				t.Helper()
				a := s.Do(http.MethodPost, "/reload", nil)
				harness.WantCode(t, "reload", a, http.StatusAccepted)
				return string(a.Body)
			}
			assert.Equal(t, "before anything was replaced", reload(), "{}")
			replacement := binary + ".new"
			harness.CopyFile(t, harness.Binary(t), replacement)
			rename(t, replacement, binary)
			assert.Equal(t, "after the same was installed again", reload(), "{}")
			assert.NoError(t, os.WriteFile(replacement, []byte("#!/bin/sh\nexit 99\n"), 0o755))
			rename(t, replacement, binary)
			replaceWorker(t, s)
			assert.Contains(t, "the answer does not tell", reload(),
				`{"warning":"the binary `+binary+` was replaced by another build`)
			assert.NoError(t, os.Remove(binary))
			replaceWorker(t, s)
			assert.Contains(t, "the answer does not tell", reload(), `was removed`)
			_, found := s.Log.First(func(l harness.Line) bool {
				return l.Level == "WARN" &&
					strings.Contains(l.Text, "was replaced by another build: workers are of this server's version")
			})
			assert.True(t, found, "the log does not tell")
			assert.Eventually(t, "the worker, perhaps a new one, is named pinion", func() bool {
				comm, err := os.ReadFile("/proc/" + strconv.Itoa(s.Worker0()) + "/comm")
				return err == nil && string(comm) == "pinion\n"
			})
		})
	}
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	assert.NoError(t, os.Rename(from, to))
}
