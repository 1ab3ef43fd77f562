package ventu

import (
	"slices"
	"time"

	"pinion/runtime/batch"
)

// Each wrong answer of a worker costs a job its second try. After maxFaults faulty batches in a row, with an unanswered
// job or a broken protocol, the worker is suspended: it gets no batch for a time that doubles until a batch is answered
// right. The last worker in service is never suspended, and all return when no other is in service. A local process
// keeps its record when it reconnects; one on another machine starts again.
const (
	maxFaults         = 3
	firstSuspension   = time.Second
	longestSuspension = time.Minute
	maxRemembered     = 256 // processes that have broken the protocol
)

// faultRecord counts the wrong answers of a worker.
type faultRecord struct {
	wrong     int           // batches in a row that were not answered right
	suspended time.Duration // length of the last suspension; 0 means none
	at        time.Duration // when the last wrong batch was
}

// wrong counts a batch that w did not answer right. The lock is held.
func (w *worker) wrong(now time.Duration) {
	w.record.wrong++
	w.record.at = now
}

// right clears the faults: each job of a batch has its answer. The lock is held.
func (w *worker) right() { w.record = faultRecord{} }

// remember stores the faults of a process that broke the protocol. The lock is held.
func (q *Queue) remember(w *worker, now time.Duration) {
	if w.recv.pid == 0 {
		return
	}
	if len(q.faults) >= maxRemembered {
		for pid, s := range q.faults {
			if now-s.at > longestSuspension {
				delete(q.faults, pid)
			}
		}
	}
	if len(q.faults) < maxRemembered {
		q.faults[w.recv.pid] = w.record
	}
}

// restore gives a new worker the stored faults of its process. The lock is held.
func (q *Queue) restore(w *worker, now time.Duration) {
	if s, known := q.faults[w.recv.pid]; known && w.recv.pid != 0 {
		delete(q.faults, w.recv.pid)
		if now-s.at <= longestSuspension {
			w.record = s
		}
	}
}

// idleOrSuspend makes a worker without a batch idle, or suspends it. The lock is held.
func (q *Queue) idleOrSuspend(w *worker) {
	if s := &w.record; s.wrong >= maxFaults && q.inService(w) > 0 {
		s.suspended = min(longestSuspension, max(firstSuspension, 2*s.suspended))
		w.move(workerSuspended)
		w.resumeTimer = time.AfterFunc(s.suspended, func() { q.endSuspension(w) })
		q.opt.Observer.Suspended()
		w.recv.log.Warn("worker suspended: its answers are not valid", "batches", s.wrong, "for", s.suspended.String())
		return
	}
	w.move(workerIdle)
	q.idle = append(q.idle, w)
}

// endSuspension puts a suspended worker into service again.
func (q *Queue) endSuspension(w *worker) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.resume(w)
	q.dispatch(q.now())
}

func (q *Queue) resume(w *worker) {
	if w.phase == workerSuspended && w.move(workerIdle) {
		w.resumeTimer.Stop()
		q.idle = append(q.idle, w)
		w.recv.log.Info("worker back in service")
	}
}

// inService counts the workers that may get a batch, without one of them. The lock is held.
func (q *Queue) inService(but *worker) (n int) {
	for w := range q.workers {
		if w != but && w.phase != workerSuspended {
			n++
		}
	}
	return n
}

// retry sends unanswered jobs to other workers before new ones, each in a batch by itself. Without another worker in
// service they end. The lock is held.
func (q *Queue) retry(now time.Duration) {
	waiting := q.retries[:0]
	for _, j := range q.retries {
		i := slices.IndexFunc(q.idle, func(w *worker) bool { return w != j.avoid })
		switch {
		case i >= 0:
			q.hand(i, []*batch.Item[*Job]{&j.item}, now, 0)
		case q.inService(j.avoid) == 0:
			q.end(j, now, StatusUnanswered, []byte(unansweredText))
		default:
			waiting = append(waiting, j)
		}
	}
	clear(q.retries[len(waiting):])
	q.retries = waiting
}

// removeRetry removes a job from those that wait for another worker. The lock is held.
func (q *Queue) removeRetry(j *Job) bool {
	i := slices.Index(q.retries, j)
	if i >= 0 {
		q.retries = slices.Delete(q.retries, i, i+1)
	}
	return i >= 0
}
