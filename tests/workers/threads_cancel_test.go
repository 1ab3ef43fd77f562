package workers

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"pinion/tests/harness"
)

// waits are the ways of blocking.py that a cancel ends in the thread of a slot. It does not end what C code does: "native" and
// "regex".
var waits = []string{
	"loop", "sleep", "select", "poll", "lock", "event", "queue", "join", "future", "recv", "accept", "subprocess", "pipe",
	"catching", "generator",
}

func TestThreads_CancelEndsEveryKindOfWaiting(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, cancelEveryWait)
}

// cancelEveryWait cancels predictions on threads, one way of waiting after the other.
func cancelEveryWait(t *testing.T, python harness.Python) {
	t.Helper()
	s := harness.Ready(t, harness.Options{
		Python: python.Path, Model: "blocking.py", Args: []string{"--concurrency", "3"},
	})
	worker := s.Worker()
	beside := s.Begin("beside", harness.Input{"how": "sleep"}) // no cancel of another ends it
	for _, how := range waits {
		a := harness.CancelRunning(t, s, how, harness.Input{"how": how})
		if a.Code != http.StatusOK || a.Status != "canceled" || a.Prediction.Output != nil || a.Error != "" {
			t.Errorf("%s: %s, want Code 200, Status canceled, Output nil and Error empty", how, a)
			continue
		}
		if !strings.HasPrefix(a.Logs, "begun\n") ||
			!strings.HasSuffix(a.Logs, "canceled in "+how+"\nfinally "+how+"\n") {
			t.Errorf("%s: logs are %q, want it starting with %q and ending in %q", how, a.Logs, "begun\n",
				"canceled in "+how+"\nfinally "+how+"\n")
		}
		if _, ok := a.Metrics["predict_time"]; !ok {
			t.Errorf("%s: no predict_time in %s: ok = false, want true", how, a)
		}
		if how == "subprocess" {
			_, after, _ := strings.Cut(a.Logs, "child ")
			number, _, _ := strings.Cut(after, "\n")
			child, err := strconv.Atoi(number)
			if err != nil || harness.Alive(child) {
				t.Errorf("the child of %q lives, or is not named: harness.Alive(child) = true, want false", a.Logs)
			}
		}
		harness.Equal(t, "after "+how, s.Succeed(harness.Input{"token": "next"}).Text(t), "nothing next")
	}
	harness.WantCode(t, "cancel of the first", s.Cancel("beside"), http.StatusOK)
	harness.Equal(t, "status of the first", string(harness.Receive(t, beside).Status), "canceled")
	harness.SameWorker(t, s, worker)
}
