package batching

import (
	"slices"
	"time"

	"pinion/runtime/batch"
)

// A worker that answers wrongly again and again costs each of its jobs a second try. So after wrongMost batches in a row in
// which it left a job unanswered, or broke the protocol, it is set aside: it gets no batch for a while, which doubles each
// time until a batch is right. It is never the last one in service that is, and those that are come back when none else is
// left. A process that breaks the protocol and connects again has what it had; on another machine nobody knows it.
const (
	wrongMost   = 3
	asideFirst  = time.Second
	asideLast   = time.Minute
	knownFaults = 256 // processes that have broken the protocol
)

// standing is how a worker has answered.
type standing struct {
	wrong int           // batches in a row that were not answered right
	aside time.Duration // for how long it was set aside the last time; 0: it was not
	at    time.Duration // when the last of them was
}

// wrong notes a batch that w did not answer right. The lock is held.
func (w *worker) wrong(now time.Duration) {
	w.standing.wrong++
	w.standing.at = now
}

// right notes a batch of which each job has its answer. The lock is held.
func (w *worker) right() { w.standing = standing{} }

// remember keeps the standing of a process whose connection has ended over what it sent. The lock is held.
func (q *Queue) remember(w *worker, now time.Duration) {
	if w.take.pid == 0 {
		return
	}
	if len(q.faults) >= knownFaults {
		for pid, s := range q.faults {
			if now-s.at > asideLast {
				delete(q.faults, pid)
			}
		}
	}
	if len(q.faults) < knownFaults {
		q.faults[w.take.pid] = w.standing
	}
}

// recall gives a worker that has just come the standing of its process. The lock is held.
func (q *Queue) recall(w *worker, now time.Duration) {
	if s, known := q.faults[w.take.pid]; known && w.take.pid != 0 {
		delete(q.faults, w.take.pid)
		if now-s.at <= asideLast {
			w.standing = s
		}
	}
}

// rest makes a worker idle that has no batch any more, or sets it aside. The lock is held.
func (q *Queue) rest(w *worker, now time.Duration) {
	if s := &w.standing; s.wrong >= wrongMost && q.inService(w) > 0 {
		s.aside = min(asideLast, max(asideFirst, 2*s.aside))
		w.move(workerAside)
		w.back = time.AfterFunc(s.aside, func() { q.bringBack(w) })
		q.opt.Observer.SetAside()
		w.take.log.Warn("worker set aside: it does not answer as it should", "batches", s.wrong, "for", s.aside.String())
		return
	}
	w.move(workerIdle)
	q.idle = append(q.idle, w)
}

// bringBack puts a worker that was set aside into service again.
func (q *Queue) bringBack(w *worker) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.unaside(w)
	q.dispatch(q.now())
}

func (q *Queue) unaside(w *worker) {
	if w.phase == workerAside && w.move(workerIdle) {
		w.back.Stop()
		q.idle = append(q.idle, w)
		w.take.log.Info("worker back in service")
	}
}

// inService is how many workers may get a batch, but for one. The lock is held.
func (q *Queue) inService(but *worker) (n int) {
	for w := range q.workers {
		if w != but && w.phase != workerAside {
			n++
		}
	}
	return n
}

// retry hands jobs that a worker has lost to another one, each in a batch of its own, before anything else leaves. Where no
// other worker is in service they end. The lock is held.
func (q *Queue) retry(now time.Duration) {
	waiting := q.retries[:0]
	for _, j := range q.retries {
		i := slices.IndexFunc(q.idle, func(w *worker) bool { return w != j.avoid })
		switch {
		case i >= 0:
			q.hand(i, []*batch.Item[*Job]{&j.item}, now, 0)
		case q.inService(j.avoid) == 0:
			q.end(j, now, StatusLost, []byte(lostText))
		default:
			waiting = append(waiting, j)
		}
	}
	clear(q.retries[len(waiting):])
	q.retries = waiting
}

// unretry takes a job out of those that wait for another worker. The lock is held.
func (q *Queue) unretry(j *Job) bool {
	i := slices.Index(q.retries, j)
	if i >= 0 {
		q.retries = slices.Delete(q.retries, i, i+1)
	}
	return i >= 0
}
