package slot

import (
	"testing"
	"time"

	"pinion/runtime/predict"
	"pinion/tests/assert"
)

const short = 20 * time.Millisecond

// queueTimeout changes a pool's timeout, for later calls.
func (p *Pool) queueTimeout(d time.Duration) {
	p.mu.Lock()
	p.o.QueueTimeout = d
	p.mu.Unlock()
}

func TestTimeout_QueueTimeout(t *testing.T) {
	p, w := poolWithWorker(t, Options{Queue: 10}, 1)
	l := w.ends[0]
	running := start(t, p, "running")
	begun := l.begin()
	p.queueTimeout(short)
	window, waits := start(t, p, "window"), start(t, p, "waits")
	window.failed(predict.ErrQueueTimeout)
	waits.failed(predict.ErrQueueTimeout)
	// The timeout does not apply to a running call.
	l.succeed(begun)
	running.succeeded()
	empty(t, p)
	if r := l.expect(); !isFor(r, "window") || l.claim(r.id) {
		t.Errorf(`%s could be claimed after its time, want isFor(r, "window") true and l.claim(r.id) false`, r.body)
	}
	p.queueTimeout(0)
	start(t, p, "again").serveOne(l)
}

// TestTimeout_QueueTimeoutWithoutWorkers: no worker takes the calls.
func TestTimeout_QueueTimeoutWithoutWorkers(t *testing.T) {
	p := testPool(t, Options{Queue: 10, QueueTimeout: short})
	for _, name := range []string{"first", "second"} { // the timer fires more than once
		start(t, p, name).failed(predict.ErrQueueTimeout)
	}
	empty(t, p)
}

// TestTimeout_QueueTimeoutAtFreeSlot: the timeout also ends a call that a free slot's worker does not take.
func TestTimeout_QueueTimeoutAtFreeSlot(t *testing.T) {
	p, l := poolWithSlot(t, Options{Queue: 10, QueueTimeout: short})
	began := time.Now()
	start(t, p, "handed over").failed(predict.ErrQueueTimeout)
	took := time.Since(began)
	assert.True(t, took >= freeSlotWait, "it ended after %s: its worker may have been waking up, want at least %v", took, freeSlotWait)
	r := l.expect()
	assert.False(t, l.claim(r.id), "it could be claimed after its time")
	p.queueTimeout(0)
	f := start(t, p, "next") // the slot is as free as before
	f.serveOne(l)
	empty(t, p)
}

// TestQueueTimeout_AtBlockedLoop: a call that has a slot is not ended by the queue's limit while its worker runs
// another, but by its own deadline. One that waits behind it is.
func TestQueueTimeout_AtBlockedLoop(t *testing.T) {
	p, w := poolWithWorker(t, Options{Queue: 10}, 3)
	running := start(t, p, "running")
	blocked := w.endOf(running)
	p.queueTimeout(freeSlotWait)
	begun := blocked.begin()
	admitted := start(t, p, "admitted")
	startDue(t, p, "own", time.Now().Add(short)).failed(predict.ErrQueueTimeout)
	filler := start(t, p, "filler")
	waits := start(t, p, "waits") // submitted last, so its time is over last
	waits.failed(predict.ErrQueueTimeout)
	blocked.succeed(begun)
	running.succeeded()
	for _, f := range []*testCall{admitted, filler} {
		f.serveOne(w.endOf(f))
	}
}

// TestTimeout_AfterWorkerExit: the timeout of a call goes on when no worker is left.
func TestTimeout_AfterWorkerExit(t *testing.T) {
	p, w := poolWithWorker(t, Options{Queue: 10, QueueTimeout: short}, 1)
	f := start(t, p, "first")
	w.terminate("died before it began anything")
	f.failed(predict.ErrQueueTimeout)
	empty(t, p)
}

// TestTimeout_BeforeDetach: the deadline passes between the end of a channel and Detach, when it is unknown whether the
// model has begun the call.
func TestTimeout_BeforeDetach(t *testing.T) {
	p, w := poolWithWorker(t, Options{Queue: 10}, 1)
	running := start(t, p, "running")
	w.ends[0].begin()
	p.queueTimeout(short)
	leading(t, running)
	w.die()
	assert.Eventually(t, "the end is seen", func() bool { return w.closings.Load() > 0 })
	// At the closed slot, with a deadline: like a call that was submitted just before.
	window := newTestCall(t, p, "window")
	locked(p, func() bool {
		window.pool, window.since = p, time.Now()
		p.setDeadline(window.Call, window.since, false)
		w.slots[0].assign(window.Call)
		return true
	})
	window.wait()
	assert.Eventually(t, "its time is over", func() bool {
		return locked(p, func() bool { return p.deadlines.timer == nil && window.deadline.Before(time.Now()) })
	})
	assert.Equal(t, "calls of the model", w.terminate("died"), 1)
	running.failed(ErrWorkerExit)
	window.failed(predict.ErrQueueTimeout)
	empty(t, p)
}

// TestTimeout_DeadlineBeforeDetach: the deadline passes after Detach.
func TestTimeout_DeadlineBeforeDetach(t *testing.T) {
	p, w := poolWithWorker(t, Options{Queue: 10}, 1)
	running := start(t, p, "running")
	w.ends[0].begin()
	p.queueTimeout(10 * short)
	window := start(t, p, "window")
	w.die()
	assert.Eventually(t, "the end is seen", func() bool { return w.closings.Load() > 0 })
	p.locked(p.expireLate) // early: it must not forget the call at the closed slot
	w.terminate("died")
	running.failed(ErrWorkerExit)
	window.failed(predict.ErrQueueTimeout)
	empty(t, p)
}
