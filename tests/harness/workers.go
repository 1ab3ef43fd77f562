package harness

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"pinion/tests/assert"
)

// WaitInFlight waits until so many predictions are in flight.
func WaitInFlight(t testing.TB, s *Server, n int) {
	t.Helper()
	want := fmt.Sprintf("\npinion_predictions_in_flight %d\n", n)
	assert.Eventually(t, fmt.Sprintf("%d are in flight", n), func() bool {
		return strings.Contains(string(s.Do(http.MethodGet, "/metrics", nil).Body), want)
	})
}

// CancelRunning begins a prediction, waits until the model is in it, cancels it, and returns its answer.
func CancelRunning(t *testing.T, s *Server, id string, in Input) Answer {
	t.Helper()
	answer := s.Begin(id, in)
	assert.Eventually(t, id+" begins", func() bool {
		_, begun := s.Log.First(func(l Line) bool { return l.Text == "begun" && l.PredictionID == id })
		return begun
	})
	a := s.Cancel(id)
	WantCode(t, "cancel of "+id, a, http.StatusOK)
	assert.Equal(t, "cancel of "+id, string(a.Body), "{}")
	return Receive(t, answer)
}

// CancelEveryWait cancels predictions of blocking.py, one way of waiting after the other: those that a cancel ends in
// any thread, and more.
func CancelEveryWait(t *testing.T, s *Server, more ...string) {
	t.Helper()
	worker := s.Worker()
	for _, how := range append([]string{
		"loop", "sleep", "select", "poll", "lock", "event", "queue", "join", "future", "recv", "accept", "subprocess",
		"pipe", "catching", "generator",
	}, more...) {
		a := CancelRunning(t, s, how, Input{"how": how})
		if a.Code != http.StatusOK || a.Status != "canceled" || a.Prediction.Output != nil || a.Error != "" {
			t.Errorf("%s: got %s, want it canceled, without output and error", how, a)
			continue
		}
		end := "canceled in " + how + "\nfinally " + how + "\n"
		assert.True(t, strings.HasPrefix(a.Logs, "begun\n") && strings.HasSuffix(a.Logs, end),
			"%s: got the logs %q, want begun at first and %q at last", how, a.Logs, end)
		_, ok := a.Metrics["predict_time"]
		assert.True(t, ok, "%s: got no predict_time in %s, want one", how, a)
		if how == "subprocess" {
			_, after, _ := strings.Cut(a.Logs, "child ")
			number, _, _ := strings.Cut(after, "\n")
			child, err := strconv.Atoi(number)
			assert.True(t, err == nil && !Alive(child), "got the logs %q, want a child that has ended", a.Logs)
		}
		WantCode(t, "cancel afterwards", s.Cancel(how), http.StatusOK)
		assert.Equal(t, "after "+how, s.Succeed(Input{"token": "next"}).Text(t), "nothing next")
	}
	SameWorker(t, s, worker)
}

// WaitShortage waits until a server shows that no worker can be started, for a cause that has this text, and returns how
// it refuses a prediction.
func WaitShortage(t testing.TB, s *Server, cause string) (refusal Answer) {
	t.Helper()
	var h Health
	assert.Eventually(t, "the shortage is shown", func() bool {
		h = s.Health()
		w := h.Workers[0]
		return w.NextStart != "" && w.LastExit != "" && strings.Contains(w.LastExit, cause)
	})
	assert.True(t, h.Status == "STARTING" && h.Setup.Status != "failed",
		"got status %s and setup %s, want STARTING", h.Status, h.Setup.Status)
	assert.Eventually(t, "predictions are refused with the cause", func() bool {
		refusal = s.Input(Input{})
		return strings.Contains(string(refusal.Body), "No worker can be started")
	})
	return refusal
}

// WaitWorkers waits until that many workers are ready, and each was replaced so often in all, with no successor in
// setup.
func WaitWorkers(t testing.TB, s *Server, workers, restarts int) Health {
	t.Helper()
	var h Health
	assert.Eventually(t, fmt.Sprintf("%d workers are ready after %d restarts", workers, restarts), func() bool {
		h = s.Health()
		ready, restarted := 0, 0
		for _, w := range h.Workers {
			if w.State == "ready" && w.Successor == "" {
				ready++
			}
			restarted += w.Restarts
		}
		return ready == workers && restarted == restarts
	})
	return h
}

// RunClients runs n closed loops at once until each has returned, and fails the test with what the first ones complain
// of.
func RunClients(t *testing.T, n int, loop func(client int) error) {
	t.Helper()
	var wait sync.WaitGroup
	complaints := make(chan error, n)
	for client := range n {
		wait.Go(func() {
			if err := loop(client); err != nil {
				complaints <- err
			}
		})
	}
	wait.Wait()
	close(complaints)
	for err := range complaints {
		t.Error(err)
	}
}

// WaitDrain waits until a server that is to end says so.
func WaitDrain(s *Server) { s.WaitLog("shutting down") }

// SameWorker fails if the worker died meanwhile.
func SameWorker(t *testing.T, s *Server, pid int) {
	t.Helper()
	assert.Equal(t, "the worker, which may have died", s.Worker(), pid)
}
