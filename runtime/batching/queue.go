package batching

import (
	"net"
	"slices"
	"sync"
	"time"

	"pinion/runtime/batch"
)

// Queue holds what waits and hands it to workers. Its methods may be called by any goroutine.
type Queue struct {
	opt   Options
	began time.Time // the origin of all moments

	mu        sync.Mutex
	batcher   *batch.Batcher[*Job]
	workers   map[*worker]struct{} // those that have said that they are ready
	idle      []*worker            // of these, those that have nothing to do; the longest idle first
	retries   []*Job               // that a worker has lost: each goes to another one, alone
	faults    map[int]standing     // of processes whose connection has ended over what they sent
	all       map[*worker]struct{} // every connection
	listeners []net.Listener
	inFlight  int           // jobs that have not ended
	held      time.Duration // when an idle worker was first refused what waits; 0: none is
	due       time.Duration // when timer will fire; 0: it will not
	timer     *time.Timer
	closed    bool
	scratch   []*batch.Item[*Job]

	running sync.WaitGroup // the goroutines of all connections
}

// New makes a queue. The options' MaxSize has been checked (batch.Options.Check).
func New(o Options) *Queue {
	o = o.withDefaults()
	q := &Queue{
		opt: o, began: time.Now(),
		batcher: batch.New[*Job](o.policy()),
		workers: map[*worker]struct{}{}, all: map[*worker]struct{}{}, faults: map[int]standing{},
	}
	q.timer = time.AfterFunc(time.Hour, q.tick)
	q.timer.Stop()
	return q
}

// now is the present moment, never 0.
func (q *Queue) now() time.Duration { return time.Since(q.began) + 1 }

// Submit takes a job in, whose body it keeps: it must not be changed any more. ErrFull, ErrClosed: it does not.
func (q *Queue) Submit(body []byte) (*Job, error) {
	j := &Job{q: q, id: newID(), body: body, done: make(chan struct{})}
	j.item.Value = j
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return nil, ErrClosed
	}
	if q.waiting() >= q.opt.Capacity {
		q.opt.Observer.Refused()
		return nil, ErrFull
	}
	now := q.now()
	j.item.Deadline = now + q.opt.Timeout
	j.timer = time.NewTimer(q.opt.Timeout)
	q.inFlight++
	q.batcher.Add(&j.item, now)
	q.dispatch(now)
	return j, nil
}

// giveUp ends a job without an answer, where it has not ended.
func (q *Queue) giveUp(j *Job, status int, text string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if j.phase == jobEnded {
		return
	}
	now := q.now()
	removed := q.batcher.Remove(&j.item) || q.unretry(j)
	q.end(j, now, status, []byte(text))
	if removed {
		q.dispatch(now)
	}
}

// end ends a job that is not in the batcher. The lock is held.
func (q *Queue) end(j *Job, now time.Duration, status int, answer []byte) {
	if j.phase == jobSent {
		j.with += now - j.sent
	}
	if !j.move(jobEnded) {
		return
	}
	j.status, j.answer, j.ended = status, answer, now
	q.inFlight--
	close(j.done)
}

// dispatch hands out what is to leave now. The lock is held.
func (q *Queue) dispatch(now time.Duration) {
	if q.inService(nil) == 0 {
		for w := range q.workers {
			q.unaside(w)
		}
	}
	q.retry(now)
	var again time.Duration
	for again == 0 && len(q.idle) > 0 {
		for _, it := range q.expired(now) {
			q.end(it.Value, now, StatusTimeout, []byte(timeoutText))
		}
		if q.batcher.Len() == 0 {
			break
		}
		if q.held == 0 {
			q.held = now
		}
		if end := q.held + q.opt.Gather; q.opt.Gather > 0 && q.batcher.Len() < q.opt.MaxSize && now < end {
			again = end
			break
		}
		q.scratch, again = q.batcher.Take(now, len(q.idle), q.inService(nil), q.scratch[:0])
		if len(q.scratch) > 0 {
			q.hand(0, q.scratch, now, now-q.held)
			q.held = 0
			clear(q.scratch)
		}
	}
	if again == 0 {
		q.held = 0
	}
	q.wakeAt(again, now)
}

// expired takes out what waits whose time is up. The lock is held.
func (q *Queue) expired(now time.Duration) []*batch.Item[*Job] {
	if due := q.batcher.NextDeadline(); due == 0 || due > now {
		return nil
	}
	return q.batcher.Expire(now, nil)
}

// waiting is how many jobs no worker has. The lock is held.
func (q *Queue) waiting() int { return q.batcher.Len() + len(q.retries) }

// hand gives a batch, which was held back for so long, to an idle worker; the first is idle for the longest time. The lock
// is held.
func (q *Queue) hand(i int, items []*batch.Item[*Job], now, held time.Duration) {
	w := q.idle[i]
	q.idle = slices.Delete(q.idle, i, i+1)
	n := w.fitting(items)
	for _, it := range items[n:] {
		q.batcher.PutBack(it)
	}
	l := &lot{jobs: make([]*Job, n), left: now, written: make(chan struct{})}
	for i, it := range items[:n] {
		j := it.Value
		j.move(jobSent)
		j.sent, l.jobs[i] = now, j
	}
	q.opt.Observer.Batch(n, held)
	w.move(workerBusy)
	w.lot = l
	w.give <- l // has room: a worker is idle again only when its writer has done with the batch before
}

// wakeAt sees to it that dispatch is called at a moment; 0: at none. The lock is held.
func (q *Queue) wakeAt(at, now time.Duration) {
	if at == q.due {
		return
	}
	q.due = at
	if at == 0 {
		q.timer.Stop()
		return
	}
	q.timer.Reset(at - now)
}

// tick is the timer's.
func (q *Queue) tick() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.due = 0
	q.dispatch(q.now())
}

// Ready is nil where a worker is connected, or says why jobs cannot be carried out.
func (q *Queue) Ready() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		return ErrClosed
	case len(q.workers) == 0:
		return ErrNoWorker
	}
	return nil
}

// Load is what there is to do and who is there to do it.
type Load struct {
	InFlight int   // jobs that have not ended
	Queued   int   // of these, those that no worker has
	Capacity int   // how many may wait
	PIDs     []int // of each worker that is ready its process; 0: it is not known
}

// Load is how it stands.
func (q *Queue) Load() Load {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := Load{InFlight: q.inFlight, Queued: q.waiting(), Capacity: q.opt.Capacity}
	for w := range q.workers {
		l.PIDs = append(l.PIDs, w.take.pid)
	}
	slices.Sort(l.PIDs)
	return l
}

// Close ends the queue: workers are disconnected, what has not ended is given up with 502. It returns when nothing
// of it runs any more.
func (q *Queue) Close() {
	q.mu.Lock()
	q.closed = true
	for _, ln := range q.listeners {
		ln.Close()
	}
	for w := range q.all {
		w.conn.Close()
	}
	for _, j := range q.retries {
		q.end(j, q.now(), StatusLost, nil)
	}
	q.retries = nil
	for q.batcher.Len() > 0 {
		for _, it := range q.batcher.Expire(1<<62, nil) {
			q.end(it.Value, q.now(), StatusLost, nil)
		}
	}
	q.wakeAt(0, 0)
	q.mu.Unlock()
	q.running.Wait()
}
