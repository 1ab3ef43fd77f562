package ventu

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
	began time.Time // the origin of all times

	mu           sync.Mutex
	batcher      *batch.Batcher[*Job]
	workers      map[*worker]struct{} // those that have said that they are ready
	idle         []*worker            // of these, those that have nothing to do; the longest idle first
	retries      []*Job               // unanswered by a worker: each goes to another one, alone
	faults       map[int]faultRecord  // of processes whose connection has ended over what they sent
	connected    map[*worker]struct{} // every connection
	listeners    []net.Listener
	inFlight     int           // jobs that have not ended
	waitingSince time.Duration // since when jobs have waited beside an idle worker; 0 means none have
	due          time.Duration // when timer will fire; 0 means it will not
	timer        *time.Timer
	closed       bool
	scratch      []*batch.Item[*Job]

	running sync.WaitGroup // the goroutines of all connections
}

// New makes a queue. The options' MaxSize has been checked (batch.Options.Check).
func New(o Options) *Queue {
	o = o.withDefaults()
	q := &Queue{
		opt: o, began: time.Now(),
		batcher: batch.New[*Job](o.policy()),
		workers: map[*worker]struct{}{}, connected: map[*worker]struct{}{}, faults: map[int]faultRecord{},
	}
	q.timer = time.AfterFunc(time.Hour, q.tick)
	q.timer.Stop()
	o.Connections.Add(q.silent)
	return q
}

// now returns the time since began, which is never 0.
func (q *Queue) now() time.Duration { return time.Since(q.began) + 1 }

// Submit accepts a job and keeps its body, which must not change any more. It returns ErrFull or ErrClosed if it
// refuses.
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
	removed := q.batcher.Remove(&j.item) || q.removeRetry(j)
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

// dispatch sends the batches that are due. The lock is held.
func (q *Queue) dispatch(now time.Duration) {
	if q.inService(nil) == 0 {
		for w := range q.workers {
			q.resume(w)
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
		if q.waitingSince == 0 {
			q.waitingSince = now
		}
		if end := q.waitingSince + q.opt.Gather; q.opt.Gather > 0 && q.batcher.Len() < q.opt.MaxSize && now < end {
			again = end
			break
		}
		q.scratch, again = q.batcher.Take(now, len(q.idle), q.inService(nil), q.scratch[:0])
		if len(q.scratch) > 0 {
			q.hand(0, q.scratch, now, now-q.waitingSince)
			q.waitingSince = 0
			clear(q.scratch)
		}
	}
	if again == 0 {
		q.waitingSince = 0
	}
	q.wakeAt(again, now)
}

// expired removes waiting jobs that are past their deadline. The lock is held.
func (q *Queue) expired(now time.Duration) []*batch.Item[*Job] {
	if due := q.batcher.NextDeadline(); due == 0 || due > now {
		return nil
	}
	return q.batcher.Expire(now, nil)
}

// waiting counts the jobs that no worker has. The lock is held.
func (q *Queue) waiting() int { return q.batcher.Len() + len(q.retries) }

// hand gives a batch to the idle worker i; worker 0 has been idle for the longest time. The lock is held.
func (q *Queue) hand(i int, items []*batch.Item[*Job], now, wait time.Duration) {
	w := q.idle[i]
	q.idle = slices.Delete(q.idle, i, i+1)
	n := w.fitting(items)
	for _, it := range items[n:] {
		q.batcher.PutBack(it)
	}
	l := &sentBatch{jobs: make([]*Job, n), dispatched: now, written: make(chan struct{})}
	for i, it := range items[:n] {
		j := it.Value
		j.move(jobSent)
		j.sent, l.jobs[i] = now, j
	}
	q.opt.Observer.Batch(n, wait)
	w.move(workerBusy)
	w.batch = l
	w.toWrite <- l // has room: a worker is idle again only when its writer has done with the batch before
}

// wakeAt sets the time at which dispatch is called; 0 means never. The lock is held.
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

// tick is called by the timer.
func (q *Queue) tick() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.due = 0
	q.dispatch(q.now())
}

// Ready returns nil if a worker is connected, or why no job can run.
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

// Load is the jobs and the workers of a queue at one moment.
type Load struct {
	InFlight int   // jobs that have not ended
	Queued   int   // of these, those that no worker has
	Capacity int   // how many may wait
	PIDs     []int // the process of each worker that is ready; 0 means it is not known
}

// Load returns the present load.
func (q *Queue) Load() Load {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := Load{InFlight: q.inFlight, Queued: q.waiting(), Capacity: q.opt.Capacity}
	for w := range q.workers {
		l.PIDs = append(l.PIDs, w.recv.pid)
	}
	slices.Sort(l.PIDs)
	return l
}

// Close disconnects the workers and ends every job that has not ended with 502. It returns when all goroutines have
// ended.
func (q *Queue) Close() {
	q.mu.Lock()
	q.closed = true
	for _, ln := range q.listeners {
		ln.Close()
	}
	for w := range q.connected {
		w.conn.Close()
	}
	for _, j := range q.retries {
		q.end(j, q.now(), StatusUnanswered, nil)
	}
	q.retries = nil
	for q.batcher.Len() > 0 {
		for _, it := range q.batcher.Expire(1<<62, nil) {
			q.end(it.Value, q.now(), StatusUnanswered, nil)
		}
	}
	q.wakeAt(0, 0)
	q.mu.Unlock()
	q.running.Wait()
}
