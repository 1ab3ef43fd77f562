package ventu

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"pinion/runtime/batch"
	"pinion/runtime/connlimit"
	"pinion/runtime/moves"
)

// workerPhase is the phase of a connection.
type workerPhase uint8

const (
	workerFresh        workerPhase = iota // connected; it has not said that it is ready
	workerIdle                            // waits for a batch
	workerBusy                            // has one
	workerSuspended                       // gets none for a while, see suspension.go
	workerDisconnected                    // its connection has ended
	workerPhases
)

// workerMoves is the table of legal moves.
var workerMoves = moves.Table[workerPhase]{
	workerFresh:     1<<workerIdle | 1<<workerSuspended | 1<<workerDisconnected,
	workerIdle:      1<<workerBusy | 1<<workerDisconnected,
	workerBusy:      1<<workerIdle | 1<<workerSuspended | 1<<workerDisconnected,
	workerSuspended: 1<<workerIdle | 1<<workerDisconnected,
}

// sentBatch is a batch on its way to a worker.
type sentBatch struct {
	jobs       []*Job
	dispatched time.Duration
	// written is closed when the batch was written, or its write has failed. Until then only the writer uses began,
	// which says whether a byte of it was written.
	written chan struct{}
	began   bool
}

// worker is one connection. Two goroutines serve it: read, which ends it, and write.
type worker struct {
	q          *Queue
	conn       net.Conn
	recv       receiver
	toWrite    chan *sentBatch // to write; one at most
	writerDone chan struct{}   // closed when write has ended
	place      *connlimit.Place
	since      time.Time // when it connected

	// Guarded by q.mu.
	phase       workerPhase
	evicted     bool       // closed for another connection while it was fresh, which it stays
	batch       *sentBatch // what it has; nil means nothing
	record      faultRecord
	resumeTimer *time.Timer // ends its suspension
}

// move takes w to another phase, where the table allows it.
func (w *worker) move(to workerPhase) bool {
	if !workerMoves.Allows(w.phase, to) {
		return false
	}
	w.phase = to
	return true
}

// serve serves one connection until the worker or Close closes it.
func (q *Queue) serve(conn net.Conn, place *connlimit.Place) {
	defer q.running.Done()
	w := &worker{
		q: q, conn: conn, recv: receiver{conn: conn, log: q.opt.Logger}, toWrite: make(chan *sentBatch, 1),
		writerDone: make(chan struct{}), place: place, since: time.Now(),
	}
	q.mu.Lock()
	q.connected[w] = struct{}{}
	closed := q.closed
	q.mu.Unlock()
	if closed {
		conn.Close()
	}
	go w.write()
	err := w.read()
	conn.Close()
	w.leave(err)
}

// read handles the worker's messages until the connection ends, and returns why.
func (w *worker) read() error {
	r := newReader(&stallReader{conn: w.conn, bound: w.q.opt.StallTimeout}, w.q.opt.MaxAnswer)
	if err := r.init(); err != nil {
		return err
	}
	w.recv.prepare(w.q.opt.LeaveSockets)
	w.recv.log.Info("worker connected", "address", w.conn.LocalAddr().String())
	w.q.arrive(w)
	for {
		length, err := r.length()
		if err != nil {
			return err
		}
		w.q.mu.Lock()
		l := w.batch
		w.q.mu.Unlock()
		if l == nil {
			return errUnasked
		}
		<-l.written // the writer must be ready for the next batch before this one can end
		answers, err := r.answers(length, l.jobs)
		if err != nil {
			return err
		}
		w.q.resolve(w, answers)
	}
}

// arrive adds a worker that is ready.
func (q *Queue) arrive(w *worker) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if w.evicted {
		return
	}
	now := q.now()
	q.restore(w, now)
	q.workers[w] = struct{}{}
	q.idleOrSuspend(w)
	q.opt.Observer.Connected()
	q.dispatch(now)
}

// resolve ends the jobs of a worker's batch with the answers to them.
func (q *Queue) resolve(w *worker, answers []answer) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.now()
	l := w.batch
	w.batch = nil
	if slices.ContainsFunc(answers, func(a answer) bool { return a.none }) {
		w.wrong(now)
	} else {
		w.right()
	}
	for i, j := range l.jobs {
		switch a := answers[i]; {
		case j.phase != jobSent: // it was given up meanwhile
		case a.none:
			q.requeue(j, w, now)
		default:
			q.end(j, now, a.status, a.body)
		}
	}
	q.batcher.Ended(now, len(l.jobs), now-l.dispatched)
	q.idleOrSuspend(w)
	q.dispatch(now)
}

// unansweredText is the body of a 502.
const unansweredText = "No worker could answer this request"

// requeue takes back a job that w did not answer: another worker gets it once. The lock is held.
func (q *Queue) requeue(j *Job, w *worker, now time.Duration) {
	if j.avoid != nil || q.closed {
		q.end(j, now, StatusUnanswered, []byte(unansweredText))
		return
	}
	j.avoid = w
	q.putBack(j, now) // it ends where no other worker is in service
}

// putBack returns a job that was not answered to the queue. The lock is held.
func (q *Queue) putBack(j *Job, now time.Duration) {
	j.with += now - j.sent
	j.move(jobWaiting)
	if j.avoid != nil { // a worker may have died of it: it goes alone
		q.retries = append(q.retries, j)
		return
	}
	q.batcher.PutBack(&j.item)
}

// leave removes a worker whose connection has ended.
func (w *worker) leave(err error) {
	q := w.q
	q.mu.Lock()
	known := w.phase != workerFresh
	w.move(workerDisconnected)
	if w.resumeTimer != nil {
		w.resumeTimer.Stop()
	}
	delete(q.connected, w)
	delete(q.workers, w)
	if i := slices.Index(q.idle, w); i >= 0 {
		q.idle = slices.Delete(q.idle, i, i+1)
	}
	l, closed := w.batch, q.closed
	if now := q.now(); known && !closed && !errors.Is(err, errDisconnected) { // it broke the protocol, or stalled
		w.wrong(now)
		q.remember(w, now)
	}
	if l == nil {
		q.dispatch(q.now()) // jobs may wait for it alone
	}
	q.mu.Unlock()

	close(w.toWrite)
	<-w.writerDone
	failed := l != nil || !errors.Is(err, errDisconnected)
	if closed {
		failed = false
	}
	if known {
		q.opt.Observer.Disconnected(failed)
	}
	log := w.recv.log
	if failed {
		log.Warn("worker lost", "error", err, "jobs", l.size())
	} else {
		log.Info("worker disconnected")
	}
	if l == nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.now()
	for _, j := range l.jobs {
		switch {
		case j.phase != jobSent:
		case l.began:
			q.requeue(j, w, now)
		case q.closed:
			q.end(j, now, StatusUnanswered, nil)
		default:
			q.putBack(j, now)
		}
	}
	q.batcher.Ended(now, len(l.jobs), -1)
	q.dispatch(now)
}

func (l *sentBatch) size() int {
	if l == nil {
		return 0
	}
	return len(l.jobs)
}

// mixedFrame is the largest batch of more than one job, in bytes: memory, and time on the wire, are bounded so.
const mixedFrame = 64 << 20

// fitting returns how many of these may go in one batch to w, at least one.
func (w *worker) fitting(items []*batch.Item[*Job]) int {
	most := mixedFrame
	if w.recv.small.Load() {
		most = unixChunk
	}
	size := mapHeader
	for n, it := range items {
		size += jobHeader + len(it.Value.body)
		if size > most && n > 0 {
			return n
		}
	}
	return len(items)
}

// write writes the batches that w is given.
func (w *worker) write() {
	defer close(w.writerDone)
	for l := range w.toWrite {
		err := w.send(l)
		close(l.written)
		if err != nil {
			w.conn.Close() // read ends, and takes w out
			break
		}
	}
	for l := range w.toWrite { // what it was given meanwhile has not begun
		close(l.written)
	}
}

// minWriteRate is the least rate, in bytes a second, at which a worker must take a batch.
const minWriteRate = 16 << 20

// send writes one batch.
func (w *worker) send(l *sentBatch) error {
	frame, size := encode(l.jobs)
	w.recv.expect(size)
	timeout := w.q.opt.StallTimeout + time.Duration(size/minWriteRate)*time.Second
	if err := w.conn.SetWriteDeadline(time.Now().Add(timeout)); err != nil {
		return fmt.Errorf("write a batch: %w", err)
	}
	n, err := frame.WriteTo(w.conn)
	l.began = n > 0
	if err != nil {
		return fmt.Errorf("write a batch: %w", err)
	}
	return nil
}
