package server

import (
	"time"

	"pinion/httpd"
	"pinion/runtime/jobqueue"
	"pinion/runtime/metrics"
)

// leaveWait is how long a server that ends waits until the ends of its jobs are stored.
const leaveWait = 5 * time.Second

var _ httpd.JobQueue = (*jobqueue.Member)(nil)

// fleetOf is the member's part in the queue, for its health.
func fleetOf(h jobqueue.Health) *httpd.Fleet {
	return &httpd.Fleet{
		Connected: h.Connected, Servers: h.Servers, Stored: h.Stored, Waiting: h.Waiting,
		Running: h.Running, Error: h.Error,
	}
}

// jobsOf is the queue as the metrics want it.
func jobsOf(m *jobqueue.Member) *metrics.Jobs {
	if m == nil {
		return nil
	}
	h := m.Health()
	return &metrics.Jobs{
		Waiting: h.Waiting, Running: h.RunningHere, Redelivered: h.Stats.Redelivered, Dead: h.Stats.Dead,
		Fenced: h.Stats.Fenced,
	}
}
