package server

import (
	"time"

	"pinion/httpd/place"
	"pinion/runtime/jobqueue"
	"pinion/runtime/metrics"
)

// leaveWait is how long a server that ends waits until the ends of its jobs are stored.
const leaveWait = 5 * time.Second

var _ place.Queue = (*jobqueue.Member)(nil)

// jobsOf returns the queue as the metrics want it.
func jobsOf(m *jobqueue.Member) *metrics.Jobs {
	if m == nil {
		return nil
	}
	stats := m.Stats()
	return &metrics.Jobs{
		Waiting: m.Health().Waiting, Running: m.Running(), Redelivered: stats.Redelivered, Dead: stats.Dead,
		Fenced: stats.Fenced,
	}
}
