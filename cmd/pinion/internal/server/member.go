package server

import (
	"time"

	"pinion/httpd"
	"pinion/runtime/jobqueue"
	"pinion/runtime/metrics"
	"pinion/runtime/predict"
)

// leaveWait is how long a server that ends waits until the ends of its jobs are stored.
const leaveWait = 5 * time.Second

// memberQueue gives httpd a member of the queue in the shape it asks for.
type memberQueue struct{ *jobqueue.Member }

var _ httpd.JobQueue = memberQueue{}

func (q memberQueue) Accept(s httpd.Submission) (httpd.Accepted, error) {
	a, err := q.Member.Accept(jobqueue.Submission(s))
	return httpd.Accepted(a), err
}

func (q memberQueue) Submit(s httpd.Submission, lives bool) (*predict.Prediction, error) {
	return q.Member.Submit(jobqueue.Submission(s), lives)
}

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
		Waiting: h.Waiting, Running: h.Here, Redelivered: h.Tally.Redelivered, Dead: h.Tally.Dead,
		Fenced: h.Tally.Fenced,
	}
}
