package harness

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// WaitInFlight waits until so many predictions are in flight.
func WaitInFlight(t testing.TB, s *Server, n int) {
	t.Helper()
	want := fmt.Sprintf("\npinion_predictions_in_flight %d\n", n)
	Eventually(t, fmt.Sprintf("%d are in flight", n), func() bool {
		return strings.Contains(string(s.Do(http.MethodGet, "/metrics", nil).Body), want)
	})
}

// CancelRunning begins a prediction, waits until the model is in it, cancels it, and returns its answer.
func CancelRunning(t *testing.T, s *Server, id string, in Input) Answer {
	t.Helper()
	answer := s.Begin(id, in)
	Eventually(t, id+" begins", func() bool {
		_, begun := s.Log.First(func(l Line) bool { return l.Text == "begun" && l.PredictionID == id })
		return begun
	})
	a := s.Cancel(id)
	WantCode(t, "cancel of "+id, a, http.StatusOK)
	Equal(t, "cancel of "+id, string(a.Body), "{}")
	return Receive(t, answer)
}

// WaitWorkers waits until that many workers are ready, and each was replaced so often in all, with no successor in
// setup.
func WaitWorkers(t testing.TB, s *Server, workers, restarts int) Health {
	t.Helper()
	var h Health
	Eventually(t, fmt.Sprintf("%d workers are ready after %d restarts", workers, restarts), func() bool {
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
	Equal(t, "the worker, which may have died", s.Worker(), pid)
}
