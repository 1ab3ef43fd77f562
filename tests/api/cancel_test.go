package api

import (
	"net/http"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

func TestCancel_EndsEveryKindOfWaiting(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		s := harness.Ready(t, harness.Options{Python: python.Path, Model: "blocking.py"})
		harness.CancelEveryWait(t, s, "native", "regex")
	})
}

// TestCancel_ThatGoesNowhereIsRepeated: some seconds later where the model swallowed the exception, and sooner where Python
// dropped it.
func TestCancel_ThatGoesNowhereIsRepeated(t *testing.T) {
	t.Parallel()
	for how, grace := range map[string]string{"bare_once": "1m", "deleting": "1h"} {
		s := harness.Ready(t, harness.Options{Model: "blocking.py", Args: []string{"--cancel-grace", grace}})
		worker := s.Worker()
		a := harness.CancelRunning(t, s, how, harness.Input{"how": how})
		assert.True(t, a.Status == "canceled" && strings.HasSuffix(a.Logs, "canceled in "+how+"\nfinally "+how+"\n"),
			"got %s, want Status canceled and Logs ending in %q", a, "canceled in "+how+"\nfinally "+how+"\n")
		assert.Equal(t, how+": what was dropped",
			strings.Count(a.Logs, map[string]string{"bare_once": "swallowed one\n", "deleting": "CancelationException"}[how]), 1)
		harness.SameWorker(t, s, worker)
	}
}

// TestCancel_CanceledModelCleansUp: the exception comes once, although signals come after it.
func TestCancel_CanceledModelCleansUp(t *testing.T) {
	t.Parallel()
	for _, class := range []string{"Plain", "Stream", "Task", "Blocking", "TaskStream", "Batch", "TaskBatch"} {
		s := harness.Ready(t, harness.Options{Model: "cleaning.py:" + class})
		worker := s.Worker()
		a := harness.CancelRunning(t, s, class, harness.Input{"wanted": true})
		assert.Equal(t, class+": a.Status", a.Status, "canceled")
		assert.Equal(t, class+": the logs", harness.WithoutBlockedLoop(a.Logs), "begun\nclean\n")
		s.Succeed(harness.Input{"wanted": false})
		assert.True(t, s.Worker() == worker, "%s: the worker was replaced, want the same", class)
	}
}

// TestCancel_CanceledPredictionsEndCanceled, as with Cog, also where the model handles the exception.
func TestCancel_CanceledPredictionsEndCanceled(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "blocking.py"})
	worker := s.Worker()
	for _, how := range []string{"swallow_and_return", "other_error"} {
		a := harness.CancelRunning(t, s, how, harness.Input{"how": how})
		assert.True(t, a.Status == "canceled" && a.Error == "" && a.Output == nil,
			"%s: got %s, want Status canceled, Error empty and Output nil", how, a)
		assert.True(t, how != "other_error" || strings.Contains(a.Logs, "ValueError: while cleaning up"),
			`the traceback is not in the logs of %s, want Logs with "ValueError: while cleaning up"`, a)
	}
	s.Succeed(harness.Input{})
	harness.SameWorker(t, s, worker)
}

func TestCancel_ThatDoesNotHelpEndsWorkerAfterGrace(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"swallow_all", "stuck"} {
		s := harness.Ready(t, harness.Options{Model: "blocking.py", Args: []string{"--cancel-grace", "1s", "--queue", "5"}})
		worker := s.Worker()
		before := s.Request("running", harness.Input{"how": how})
		s.WaitLog("begun")
		waiting := s.Request("waiting", harness.Input{"token": "waited"})
		harness.WantCode(t, "cancel", s.Cancel("running"), http.StatusOK)
		harness.WantCode(t, "cancel again", s.Cancel("running"), http.StatusOK)
		if a := harness.Receive(t, before.Answer); a.Status != "canceled" || !strings.HasPrefix(a.Logs, "begun\n") {
			t.Errorf("%s: %s, want Status canceled and Logs starting with %q", how, a, "begun\n")
		}
		harness.WantOutput(t, "what waited", harness.Receive(t, waiting.Answer), "nothing waited")
		h := s.WaitHealth("READY")
		assert.True(t, h.Workers[0].PID != worker && strings.Contains(h.Workers[0].LastExit, "cancel"),
			`health is %+v, want PID not %d and LastExit with "cancel"`, h, worker)
	}
}

func TestCancel_OfWhatWaitsNeverReachesModel(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "dying.py", Args: []string{"--queue", "20"}})
	open, first := harness.BeginAtGate(t, s, harness.Input{"token": "first"})
	requests := map[string]*harness.Request{}
	names := harness.Numbered("waiting", 9)
	for _, name := range names {
		requests[name] = s.Request(name, harness.Input{"token": name})
	}
	for i, name := range names {
		if i%3 == 0 {
			continue // stays
		}
		harness.WantCode(t, "cancel of "+name, s.Cancel(name), http.StatusOK)
		a := harness.Receive(t, requests[name].Answer) // at once: the model is busy and need not be asked
		assert.True(t, a.Code == http.StatusOK && a.Status == "canceled" && a.Logs == "",
			"%s: %s, want Code 200, Status canceled and Logs empty", name, a)
		harness.WantCode(t, "cancel of "+name+" again", s.Cancel(name), http.StatusOK)
	}
	open()
	harness.Receive(t, first)
	for i, name := range names {
		if i%3 == 0 {
			harness.WantStatus(t, name, harness.Receive(t, requests[name].Answer), "succeeded")
		}
	}
	assert.Equal(t, "the model ran", strings.Join(harness.ModelLines(t, s, "ran.txt"), " "),
		"first waiting0 waiting3 waiting6")
}

func TestCancel_GeneratorsItemsAreCollectedAndItIsClosedOnCancel(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "blocking.py:Producer"})
	a := s.Succeed(harness.Input{"n": 4})
	harness.EqualJSON(t, "output", a.Output, `[0,1,2,3]`)
	assert.Equal(t, "logs", a.Logs, "begun\nclosed\n")
	harness.EqualJSON(t, "empty", s.Succeed(harness.Input{"n": 0}).Output, `[]`)
	a = harness.CancelRunning(t, s, "endless", harness.Input{"n": 1 << 40})
	assert.Equal(t, "status", a.Status, "canceled")
	assert.Contains(t, "a.Logs", a.Logs, "closed\n")
	s.Succeed(harness.Input{})
}
