package workers

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestSDKLists_CancelEndsMoreKindsOfWaiting goes on with TestCancel_EndsEveryKindOfWaiting: input() on a pipe, loops in
// numpy, what waits in C, inside of other handlers, and below contextlib.suppress(Exception).
func TestSDKLists_CancelEndsMoreKindsOfWaiting(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		s := harness.Ready(t, harness.Options{
			Python: python.Path, Model: "lists.py:Waits", Args: []string{"--cancel-grace", "2s"},
		})
		worker := s.Worker()
		for _, how := range []string{
			"input_on_a_pipe", "numpy_loop", "condition", "semaphore", "lock_with_timeout", "wait_for_a_child", "communicate",
			"open_a_fifo", "file_lock", "http", "c_poll", "inner_loop", "suppressed", "in_finally", "in_del",
		} {
			if how == "numpy_loop" && !harness.Has(python, "numpy") {
				t.Log("left out: numpy is not installed")
				continue
			}
			a := harness.CancelRunning(t, s, how, harness.Input{"how": how})
			assert.True(t, a.Code == http.StatusOK && a.Status == "canceled" && a.Prediction.Output == nil && a.Error == "",
				"%s: %s, want Code 200, Status canceled, Output nil and Error empty", how, a)
			assert.True(t, strings.HasSuffix(a.Logs, "canceled in "+how+"\nfinally "+how+"\n"),
				"%s: logs are %q, want it to end in %q", how, a.Logs, "canceled in "+how+"\nfinally "+how+"\n")
			if a := s.Succeed(harness.Input{}); a.Text(t) != "nothing" || a.Logs != "finally nothing\n" {
				t.Errorf("after %s: %s, want Text nothing and Logs %q", how, a, "finally nothing\n")
			}
		}
		harness.SameWorker(t, s, worker)
	})
}

// The writers of TestLogs_AreWhatWasWrittenInItsOrder, continued.
func TestSdkLists_LogsOfMoreKindsOfWriting(t *testing.T) {
	t.Parallel()
	var threads strings.Builder
	for i := range 20 {
		for thread := range 3 {
			fmt.Fprintf(&threads, "thread %d %d\n", thread, i)
		}
	}
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		s := harness.Ready(t, harness.Options{Python: python.Path, Model: "lists.py:Writes"})
		worker := s.Worker()
		for _, c := range []struct {
			what string
			n    int
			want string
		}{
			{"progress", 3, "\r1/3line 0\n\r2/3line 1\n\r3/3line 2\n\n"},
			{"partial", 1, "abcde\nno end"},
			{"split_character", 1, "€ \U0001f600\n\ufffd\ufffd"},
			{"threads", 20, threads.String()},
			{"captured_descriptor", 1, "before\ncaught b'native\\npython\\n'\n"},
			{"nowhere", 1, "seen\n"},
			{"closed_descriptor", 1, "stdout is there\n"},
			{"partial", 1, "abcde\nno end"},
		} {
			assert.Equal(t, c.what+": logs", s.Succeed(harness.Input{"what": c.what, "n": c.n}).Logs, c.want)
		}
		harness.SameWorker(t, s, worker)
	})
}

// TestSDKLists_HundredMegabytesOfLogsFitInBoundedMemory: the answer has the first 16 MiB and says how much was cut.
func TestSDKLists_HundredMegabytesOfLogsFitInBoundedMemory(t *testing.T) {
	t.Parallel()
	const lines, length, retained = 10000, 10000, 16 << 20
	s := harness.Ready(t, harness.Options{Model: "lists.py:Writes"})
	worker := s.Worker()
	s.Succeed(harness.Input{"what": "flood", "n": 10})
	front, model := harness.PeakResident(t, s.PID), harness.PeakResident(t, worker)
	a := s.Succeed(harness.Input{"what": "flood", "n": lines})
	text, notice, found := strings.Cut(a.Logs, "\n[")
	if !found || len(text) > retained || len(text) < retained-128<<10 { // whole pieces of what was read
		t.Errorf("the answer has %d bytes of log, want %d to %d and the notice", len(a.Logs), retained-128<<10, retained)
	}
	want := fmt.Sprintf("%d bytes of log were cut: ", lines*length-len(text))
	assert.True(t, strings.HasPrefix(notice, want), "the notice is %q, want %q", notice, want)
	for i, line := range strings.SplitN(a.Logs, "\n", 1001)[:1000] {
		assert.TrueNow(t, strings.HasPrefix(line, fmt.Sprintf("%08d xxx", i)) && len(line) == length-1,
			"line %d is %.40q…, want line starting with %q and len(line) %d bytes", i, line, fmt.Sprintf("%08d xxx", i),
			length-1)
	}
	if grown := harness.PeakResident(t, worker) - model; grown > 16<<20 && !harness.Sanitized(t) {
		t.Errorf("the worker has grown by %d MiB, want at most %d", grown>>20, 16<<20)
	}
	if grown := harness.PeakResident(t, s.PID) - front; grown > 200<<20 && !harness.Sanitized(t) {
		t.Errorf("the front has grown by %d MiB, want at most %d", grown>>20, 200<<20)
	}
	assert.Equal(t, "logs of the next prediction", s.Succeed(harness.Input{"what": "nowhere"}).Logs, "seen\n")
	harness.SameWorker(t, s, worker)
}
