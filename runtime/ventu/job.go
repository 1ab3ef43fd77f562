package ventu

import (
	"net/http"
	"time"

	"pinion/runtime/batch"
	"pinion/runtime/moves"
)

// The statuses of a job. They are HTTP's, because the service that this package replaces defines its outcomes by them.
const (
	StatusDone       = http.StatusOK
	StatusInvalid    = http.StatusUnprocessableEntity // its id is among the answer's error_ids
	StatusTimeout    = http.StatusRequestTimeout
	StatusUnanswered = http.StatusBadGateway
	StatusCanceled   = 499 // Cancel
)

// timeoutText is the body of a 408, which clients may know.
const timeoutText = "Timeout!"

// jobPhase is the phase of a job.
type jobPhase uint8

const (
	jobWaiting jobPhase = iota // in the batcher
	jobSent                    // with a worker
	jobEnded                   // its status is set
	jobPhases
)

// jobMoves is the table of legal moves.
var jobMoves = moves.Table[jobPhase]{
	jobWaiting: 1<<jobSent | 1<<jobEnded,
	jobSent:    1<<jobWaiting | 1<<jobEnded,
}

// Job is one body on its way to a worker and back. Wait is called once; Cancel by any goroutine at any time.
type Job struct {
	q     *Queue
	id    id
	body  []byte
	item  batch.Item[*Job]
	timer *time.Timer
	done  chan struct{} // closed at its end

	// Guarded by q.mu until done is closed, and not changed after that.
	phase  jobPhase
	avoid  *worker // did not answer it; it goes once to another one. nil means none
	status int
	answer []byte
	sent   time.Duration // when it left for a worker, the last time
	with   time.Duration // how long workers have had it
	ended  time.Duration
}

// move takes j to another phase, where the table allows it.
func (j *Job) move(to jobPhase) bool {
	if !jobMoves.Allows(j.phase, to) {
		return false
	}
	j.phase = to
	return true
}

// Wait waits for the job's end and returns its status and the body of its answer.
func (j *Job) Wait() (status int, answer []byte) {
	select {
	case <-j.done:
		j.timer.Stop()
	case <-j.timer.C:
		j.q.giveUp(j, StatusTimeout, timeoutText)
	}
	arrived := j.item.Arrived()
	j.q.opt.Observer.Ended(End{
		Status: j.status, Total: j.ended - arrived, Queue: j.ended - arrived - j.with, Worker: j.with,
	})
	return j.status, j.answer
}

// Cancel ends the job: its client does not wait any more.
func (j *Job) Cancel() { j.q.giveUp(j, StatusCanceled, "") }
