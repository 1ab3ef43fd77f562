package member

import (
	"time"

	"pinion/httpd"
	"pinion/runtime/jobqueue"
	"pinion/runtime/metrics"
	"pinion/runtime/predict"
)

// LeaveWait is how long a server that ends waits until the ends of its jobs are stored.
const LeaveWait = 5 * time.Second

// Queue gives httpd a member of the queue in the shape it asks for.
type Queue struct{ *jobqueue.Member }

var _ httpd.JobQueue = Queue{}

func (q Queue) Accept(s httpd.Submission) (httpd.Accepted, error) {
	a, err := q.Member.Accept(jobqueue.Submission(s))
	return httpd.Accepted(a), err
}

func (q Queue) Submit(s httpd.Submission, lives bool) (*predict.Prediction, error) {
	return q.Member.Submit(jobqueue.Submission(s), lives)
}

// Fleet is the member's part in the queue, for its health.
func Fleet(h jobqueue.Health) *httpd.Fleet {
	return &httpd.Fleet{
		Connected: h.Connected, Servers: h.Servers, Stored: h.Stored, Waiting: h.Waiting,
		Running: h.Running, Error: h.Error,
	}
}

// Jobs is the queue as the metrics want it.
func Jobs(m *jobqueue.Member) *metrics.Jobs {
	if m == nil {
		return nil
	}
	h := m.Health()
	return &metrics.Jobs{
		Waiting: h.Waiting, Running: h.Here, Redelivered: h.Tally.Redelivered, Dead: h.Tally.Dead,
		Fenced: h.Tally.Fenced,
	}
}
