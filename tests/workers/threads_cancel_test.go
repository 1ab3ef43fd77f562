package workers

import (
	"fmt"
	"net/http"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

func TestThreads_CancelEndsEveryKindOfWaiting(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, cancelEveryWait)
}

// cancelEveryWait cancels predictions on threads. What C code does, "native" and "regex", a cancel does not end there.
func cancelEveryWait(t *testing.T, python harness.Python) {
	t.Helper()
	s := harness.Ready(t, harness.Options{Python: python.Path, Model: "blocking.py", Args: []string{"--concurrency", "3"}})
	beside := s.Begin("beside", harness.Input{"how": "sleep"}) // no cancel of another ends it
	harness.CancelEveryWait(t, s)
	harness.WantCode(t, "cancel of the first", s.Cancel("beside"), http.StatusOK)
	assert.Equal(t, "status of the first", string(harness.Receive(t, beside).Status), "canceled")
}

// TestCancel_RunsTheCleanUpOfALoop cancels loops at any instruction, also at jumps out of the reach of the try block
// around them.
func TestCancel_RunsTheCleanUpOfALoop(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, cancelTurns)
}

func cancelTurns(t *testing.T, python harness.Python) {
	t.Helper()
	for _, slots := range []string{"1", "4"} {
		s := harness.Ready(t, harness.Options{
			Python: python.Path, Model: "turns.py:run", Args: []string{"--concurrency", slots},
		})
		for how, want := range map[string]string{
			"count": "begun\nclean\n", "compute": "begun\nclean\n", "call": "begun\nclean\n",
			"nest": "begun\ncaught\nclosed\nclean\n", "first": "begun\nclean\n",
		} {
			if how == "first" && python.Minor == 11 {
				continue // Known limits of ARCHITECTURE.md
			}
			for i := range 20 {
				a := harness.CancelRunning(t, s, fmt.Sprint(how, i), harness.Input{"how": how})
				assert.True(t, a.Status == "canceled" && a.Logs == want,
					"%s of %s slots: got %s with the logs %q, want it canceled and %q", how, slots, a, a.Logs, want)
			}
		}
	}
}
