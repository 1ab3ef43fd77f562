package api

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

const mebibyte = 1 << 20

// TestBody_HundredMebibytesPassBothWays: not parallel, for it measures memory.
func TestBody_HundredMebibytesPassBothWays(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "echo.py:text"})
	body := func(total int) []byte {
		const head, tail = `{"input":{"text":"`, `"}}`
		return []byte(head + strings.Repeat("y", total-len(head)-len(tail)) + tail)
	}
	full := body(100 * mebibyte)
	sent := full[len(`{"input":{"text":`) : len(full)-len(`}}`)]
	echo := func() {
		t.Helper()
		a := s.Create(full)
		assert.TrueNow(t, a.Err == nil && a.Status == "succeeded" && bytes.Equal(a.Output, sent),
			"the answer of %d bytes is not what was sent: %.200s, want Status succeeded and Output %q", len(a.Body), a, sent)
	}
	for range 3 { // until the worker's memory has found its size
		echo()
	}
	worker := s.Worker()
	frontFiles, workerFiles := harness.Descriptors(t, s.PID), harness.Descriptors(t, worker)
	workerMemory := harness.Resident(t, worker)
	for range harness.Soak(10, 3) {
		echo()
	}
	a := s.Create(body(100*mebibyte + 1))
	harness.WantCode(t, "a byte too many", a, 413)
	assert.Contains(t, "413 says", string(a.Body), `"detail"`)
	harness.WantCode(t, "a mebibyte too many", s.Create(body(101*mebibyte)), 413)
	s.Succeed(harness.Input{"text": "small"})
	assert.EqualNow(t, "PID of the worker", s.Worker(), worker)
	assert.Eventually(t, "both have as many files open as before", func() bool {
		return harness.Descriptors(t, s.PID) <= frontFiles && harness.Descriptors(t, worker) <= workerFiles
	})
	if harness.Sanitized(t) {
		return
	}
	assert.Eventually(t, "the front holds less than one of the bodies", func() bool {
		return harness.Resident(t, s.PID) < 60*mebibyte
	})
	now := harness.Resident(t, worker)
	assert.True(t, now <= workerMemory+10*mebibyte, "the worker holds %d MiB, before it held %d, want at most %d",
		now/mebibyte, workerMemory/mebibyte, workerMemory+10*mebibyte)
}

// TestBody_BodiesOfEverySizePass walks the sizes at which the way of a body through socket and memory file changes.
func TestBody_BodiesOfEverySizePass(t *testing.T) {
	t.Parallel()
	for _, model := range []string{"echo.py:text", "tasks.py:echo"} {
		s := harness.Ready(t, harness.Options{Model: model, Args: []string{"--queue", "8"}})
		sizes := []int{0, 1, 63 << 10, 64 << 10, 65 << 10, 256 << 10, 1 * mebibyte, 1*mebibyte + 1, 3 * mebibyte}
		for off := -100; off <= 20; off += 10 {
			sizes = append(sizes, 6*mebibyte+off)
		}
		sizes = append(sizes, 7*mebibyte, 20*mebibyte)
		harness.RunClients(t, len(sizes), func(client int) error {
			text := strings.Repeat("z", sizes[client])
			a := s.Input(harness.Input{"text": text})
			for a.Code == http.StatusTooManyRequests {
				a = s.Input(harness.Input{"text": text})
			}
			if a.Err != nil || string(a.Output) != `"`+text+`"` {
				return fmt.Errorf("%s, %d bytes: %.200s", model, len(text), a.String())
			}
			return nil
		})
	}
}

func TestBody_LargeErrorAndLargeLogsPass(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "raising.py:large"})
	a := s.Fail(harness.Input{"size": 8 * mebibyte})
	assert.Equal(t, "the error", a.Error, "ValueError: "+strings.Repeat("e", 8*mebibyte))
	line, whole := a.Logs[strings.Index(a.Logs, "ValueError: "):], "ValueError: "+strings.Repeat("e", 4*mebibyte)
	assert.Equal(t, "the error's line in the logs", line, whole[:4*mebibyte]+" [cut: the line is longer than 4 MiB]\n")
	s.Fail(harness.Input{"size": 1})
}
