package slot

import (
	"testing"
	"time"

	"pinion/runtime/predict"
	"pinion/tests/await"
)

const short = 20 * time.Millisecond

// queueTimeout changes a pool's, for calls that come from now on.
func (p *Pool) queueTimeout(d time.Duration) {
	p.mu.Lock()
	p.o.QueueTimeout = d
	p.mu.Unlock()
}

func TestQueueTimeout(t *testing.T) {
	await.NoLeak(t)
	p := NewPool(Options{Queue: 10})
	w := newWorker(t, p, 1)
	l := w.lines[0]
	running := start(t, p, "running")
	begun := l.begin()
	p.queueTimeout(short)
	window, waits := start(t, p, "window"), start(t, p, "waits")
	window.failed(predict.ErrQueueTimeout)
	waits.failed(predict.ErrQueueTimeout)
	// The time of one that runs is its own.
	l.succeed(begun)
	running.succeeded()
	empty(t, p)
	if r := l.expect(); !isFor(r, "window") || l.claim(r.id) {
		t.Errorf("%s could be claimed after its time", r.body)
	}
	p.queueTimeout(0)
	again := start(t, p, "again")
	l.succeed(l.begin())
	again.succeeded()
}

// TestQueueTimeoutWithoutWorkers: nobody is there to take it.
func TestQueueTimeoutWithoutWorkers(t *testing.T) {
	await.NoLeak(t)
	p := NewPool(Options{Queue: 10, QueueTimeout: short})
	for _, name := range []string{"first", "second"} { // the timer works more than once
		start(t, p, name).failed(predict.ErrQueueTimeout)
	}
	empty(t, p)
}

// TestQueueTimeoutAtAFreeSlot: a worker that does not take what was handed to it does not hold it for longer than any
// other wait may take.
func TestQueueTimeoutAtAFreeSlot(t *testing.T) {
	await.NoLeak(t)
	p := NewPool(Options{Queue: 10, QueueTimeout: short})
	l := newWorker(t, p, 1).lines[0]
	began := time.Now()
	start(t, p, "handed over").failed(predict.ErrQueueTimeout)
	if took := time.Since(began); took < freeSlotWait {
		t.Errorf("it ended after %s: its worker may have been waking up", took)
	}
	if r := l.expect(); l.claim(r.id) {
		t.Error("it could be claimed after its time")
	}
	p.queueTimeout(0)
	f := start(t, p, "next") // the slot is as free as before
	l.succeed(l.begin())
	f.succeeded()
	empty(t, p)
}

// TestTimeoutOfOneThatLostItsWorker: its time goes on where no worker is left.
func TestTimeoutOfOneThatLostItsWorker(t *testing.T) {
	await.NoLeak(t)
	p := NewPool(Options{Queue: 10, QueueTimeout: short})
	w := newWorker(t, p, 1)
	f := start(t, p, "first")
	w.bury("died before it began anything")
	f.failed(predict.ErrQueueTimeout)
	empty(t, p)
}

// TestTimeoutWhileTheWorkerIsLost: the deadline passes between the end of a channel and the judgement of the
// exit, when nobody can tell whether the model has begun the call.
func TestTimeoutWhileTheWorkerIsLost(t *testing.T) {
	await.NoLeak(t)
	p := NewPool(Options{Queue: 10})
	w := newWorker(t, p, 1)
	running := start(t, p, "running")
	w.lines[0].begin()
	p.queueTimeout(short)
	leading(t, running)
	w.die()
	await.Eventually(t, "the end is seen", func() bool { return w.closings.Load() > 0 })
	// At the lost slot, with a deadline: as one that was submitted just before.
	window := newFlight(t, p, "window")
	locked(p, func() bool {
		window.pool, window.since = p, time.Now()
		p.setDeadline(window.Call, window.since, false)
		w.slots[0].assign(window.Call)
		return true
	})
	window.wait()
	await.Eventually(t, "its time is over", func() bool {
		return locked(p, func() bool { return p.timer == nil && window.deadline.Before(time.Now()) })
	})
	if had := w.bury("died"); had != 1 {
		t.Errorf("the model had %d calls, want 1", had)
	}
	running.failed(ErrWorker)
	window.failed(predict.ErrQueueTimeout)
	empty(t, p)
}

// TestDeadlineKeepsRunningAtALostSlot: it passes after the judgement.
func TestDeadlineKeepsRunningAtALostSlot(t *testing.T) {
	await.NoLeak(t)
	p := NewPool(Options{Queue: 10})
	w := newWorker(t, p, 1)
	running := start(t, p, "running")
	w.lines[0].begin()
	p.queueTimeout(10 * short)
	window := start(t, p, "window")
	w.die()
	await.Eventually(t, "the end is seen", func() bool { return w.closings.Load() > 0 })
	p.expire() // early: it must not forget the one at the lost slot
	w.bury("died")
	running.failed(ErrWorker)
	window.failed(predict.ErrQueueTimeout)
	empty(t, p)
}
