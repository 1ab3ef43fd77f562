package queue

import (
	"net/http"
	"strings"
	"syscall"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// fleetOf is the fleet in a server's health.
func fleetOf(t testing.TB, s *harness.Server) (f struct {
	Connected                         bool
	Servers, Stored, Waiting, Running int
	Error                             string
},
) {
	t.Helper()
	var h struct{ Fleet any }
	h.Fleet = &f
	harness.FromJSON(t, s.Do(http.MethodGet, "/health-check", nil).Body, &h)
	return f
}

// TestMetrics_FleetInHealthAndMetrics: both servers tell of all servers and jobs, and of what was lost.
func TestMetrics_FleetInHealthAndMetrics(t *testing.T) {
	t.Parallel()
	nats, a := startMember(t)
	harness.EnqueueAtGate(t, a, "p1")
	b := harness.StartMember(t, nats.URL, harness.Options{Dir: a.Dir})
	otherGate := harness.MakeFIFO(t, a.Dir, "other")
	harness.Enqueue(t, b, "p2", harness.Input{"gate": "other"})
	harness.WaitStatus(t, b, "p2", "processing")
	harness.Enqueue(t, a, "waits", harness.Input{})
	for _, s := range []*harness.Server{a, b} {
		assert.Eventually(t, "health tells of the fleet", func() bool {
			f := fleetOf(t, s)
			return f.Connected && f.Servers == 2 && f.Stored == 3 && f.Waiting == 1 && f.Running == 2 && f.Error == ""
		})
	}
	metrics := func(s *harness.Server) string { return string(s.Do(http.MethodGet, "/metrics", nil).Body) }
	for _, want := range []string{
		"pinion_jobs_waiting 1", "pinion_jobs_running 1", "pinion_jobs_redelivered_total 0",
		"pinion_jobs_dead_total 0", "pinion_jobs_fenced_total 0", "pinion_job_wait_seconds_count 1",
	} {
		assert.Contains(t, "the metrics lack "+want, metrics(b), "\n"+want+"\n")
	}
	otherGate()
	harness.WaitStatus(t, b, "waits", "succeeded")
	a.Signal(syscall.SIGSTOP)
	assert.Eventually(t, "the other server takes its job", func() bool { return harness.TimesRun(t, b, "p1") == 2 })
	succeedsAtGate(t, b, "p1")
	assert.Eventually(t, "one server is left", func() bool { return fleetOf(t, b).Servers == 1 })
	a.Signal(syscall.SIGCONT)
	assert.Eventually(t, "the metrics count it", func() bool {
		return strings.Contains(metrics(b), "\npinion_jobs_redelivered_total 1\n") &&
			strings.Contains(metrics(a), "\npinion_jobs_fenced_total 1\n")
	})
}

// TestMetrics_WithoutQueueThereAreNoQueueMetrics: neither in health nor in metrics.
func TestMetrics_WithoutQueueThereAreNoQueueMetrics(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "fleet.py"})
	for _, path := range []string{"/health-check", "/metrics"} {
		got := s.Do(http.MethodGet, path, nil)
		assert.True(t, !strings.Contains(string(got.Body), "fleet") && !strings.Contains(string(got.Body), "pinion_job"),
			`%s: %s, want it without "fleet" and without "pinion_job"`, path, got)
	}
}
