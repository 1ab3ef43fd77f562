package slot

import (
	"testing"
	"time"

	"pinion/runtime/predict"
	"pinion/tests/await"
)

const short = 20 * time.Millisecond

func TestQueueTimeout(t *testing.T) {
	await.NoLeak(t)
	p := NewPool(Options{Queue: 10, QueueTimeout: short})
	w := newWorker(t, p, 1)
	l := w.lines[0]
	running, window, waits := start(t, p, "running"), start(t, p, "window"), start(t, p, "waits")
	begun := l.begin()
	window.failed(predict.ErrQueueTimeout)
	waits.failed(predict.ErrQueueTimeout)
	// The time of one that runs is its own.
	l.succeed(begun)
	running.succeeded()
	empty(t, p)
	if r := l.expect(); !isFor(r, "window") || l.claim(r.id) {
		t.Errorf("%s could be claimed after its time", r.body)
	}
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

// TestOneWithoutAWaitHasNoDeadline: a call that found an idle slot is the model's affair.
func TestOneWithoutAWaitHasNoDeadline(t *testing.T) {
	p := NewPool(Options{Queue: 10, QueueTimeout: time.Hour})
	newWorker(t, p, 1)
	first, second := start(t, p, "first"), start(t, p, "second")
	if !locked(p, func() bool { return first.deadline.IsZero() && !second.deadline.IsZero() }) {
		t.Errorf("deadlines %s and %s", first.deadline, second.deadline)
	}
	p.Cancel(first.Call)
	p.Cancel(second.Call)
	first.failed(ErrCanceled)
	second.failed(ErrCanceled)
}

// TestTimeoutOfOneThatLostItsWorker: it had no deadline, for it had not to wait. Now it has.
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
	p := NewPool(Options{Queue: 10, QueueTimeout: short})
	w := newWorker(t, p, 1)
	running := start(t, p, "running")
	w.lines[0].begin()
	leading(t, running)
	w.die()
	await.Eventually(t, "the end is seen", func() bool { return w.closings.Load() > 0 })
	// At the lost slot, with a deadline: as one that was submitted just before.
	window := newFlight(t, p, "window")
	locked(p, func() bool {
		window.pool, window.since = p, time.Now()
		p.setDeadline(window.Call, window.since)
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
	p := NewPool(Options{Queue: 10, QueueTimeout: 10 * short})
	w := newWorker(t, p, 1)
	running, window := start(t, p, "running"), start(t, p, "window")
	w.lines[0].begin()
	w.die()
	await.Eventually(t, "the end is seen", func() bool { return w.closings.Load() > 0 })
	p.expire() // early: it must not forget the one at the lost slot
	w.bury("died")
	running.failed(ErrWorker)
	window.failed(predict.ErrQueueTimeout)
	empty(t, p)
}
