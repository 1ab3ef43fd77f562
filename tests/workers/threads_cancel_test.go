package workers

import (
	"net/http"
	"testing"

	"pinion/tests/harness"
)

func TestThreads_CancelEndsEveryKindOfWaiting(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, cancelEveryWait)
}

// cancelEveryWait cancels predictions on threads. What C code does, "native" and "regex", a cancel does not end there.
func cancelEveryWait(t *testing.T, python harness.Python) {
	t.Helper()
	s := harness.Ready(t, harness.Options{
		Python: python.Path, Model: "blocking.py", Args: []string{"--concurrency", "3"},
	})
	beside := s.Begin("beside", harness.Input{"how": "sleep"}) // no cancel of another ends it
	harness.CancelEveryWait(t, s)
	harness.WantCode(t, "cancel of the first", s.Cancel("beside"), http.StatusOK)
	harness.Equal(t, "status of the first", string(harness.Receive(t, beside).Status), "canceled")
}
