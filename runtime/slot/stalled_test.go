package slot

import (
	"testing"
	"time"

	"pinion/ipc"
	"pinion/tests/await"
)

// stalls checks how often in a row a worker did not take a call.
func (w *fakeWorker) stalls(want int) {
	w.t.Helper()
	if got := w.pool.Stalled(w.slots); got != want {
		w.t.Errorf("%d looks in a row saw a call that was not taken, want %d", got, want)
	}
}

// TestStalled: only a free slot that does not take the same call counts, look by look.
func TestStalled(t *testing.T) {
	await.NoLeak(t)
	p := NewPool(Options{Queue: 10})
	w := newWorker(t, p, 1)
	w.stalls(0)
	first := start(t, p, "first")
	w.stalls(1)
	w.stalls(2)
	r := w.lines[0].begin()
	w.stalls(0)
	second := start(t, p, "second") // it waits behind the first, for however long
	w.stalls(0)
	w.stalls(0)
	w.lines[0].succeed(r)
	first.succeeded()
	w.stalls(1)
	w.stalls(2)
	w.lines[0].succeed(w.lines[0].begin())
	second.succeeded()
	w.stalls(0)
	empty(t, p)
}

// TestStalledBesideABusySlot: a loop that one call blocks does not take another's.
func TestStalledBesideABusySlot(t *testing.T) {
	await.NoLeak(t)
	p := NewPool(Options{Queue: 10})
	w := newWorker(t, p, 2)
	first := start(t, p, "first")
	busy, free := w.lines[0], w.lines[1]
	if locked(p, func() bool { return first.slot == w.slots[1] }) {
		busy, free = free, busy
	}
	r := busy.begin()
	w.stalls(0)
	second := start(t, p, "second")
	w.stalls(1)
	w.stalls(2)
	free.succeed(free.begin())
	second.succeeded()
	w.stalls(0)
	busy.succeed(r)
	first.succeeded()
}

// TestStalledByAnotherCall: each call counts for itself.
func TestStalledByAnotherCall(t *testing.T) {
	await.NoLeak(t)
	p := NewPool(Options{Queue: 10})
	w := newWorker(t, p, 1)
	for range 3 {
		f := start(t, p, "one of many")
		w.stalls(1)
		w.lines[0].succeed(w.lines[0].begin())
		f.succeeded()
	}
}

// TestStalledByAnOverwrittenClaim: the worker skips such a call and goes on, and nobody can take it back.
func TestStalledByAnOverwrittenClaim(t *testing.T) {
	await.NoLeak(t)
	p := NewPool(Options{Queue: 10})
	w := newWorker(t, p, 1)
	l := w.lines[0]
	first, second := start(t, p, "first"), start(t, p, "second")
	l.word(atClaims + 8*ipc.ClaimIndex(l.expect().id)).Store(0)
	r := l.begin()
	w.stalls(1)
	w.stalls(2)
	l.succeed(r)
	second.succeeded()
	w.stalls(3)
	w.bury("its page was overwritten")
	first.lostWith("its page was overwritten")
	empty(t, p)
}

// TestStalledBatch: a batch counts as a call does.
func TestStalledBatch(t *testing.T) {
	await.NoLeak(t)
	p := NewPool(Options{Queue: 10})
	r := newRider(t, p, rides())
	f := start(t, p, "1")
	ride := r.gather()
	r.stalls(1)
	r.stalls(2)
	if !r.line.claim(ride.id) {
		t.Fatal("the batch was taken back")
	}
	r.stalls(0)
	r.arrive(ride)
	f.succeeded()
	r.stalls(0)
}

// TestPredictTimeoutWithAnOverwrittenPage: the model writes over what says that it runs.
func TestPredictTimeoutWithAnOverwrittenPage(t *testing.T) {
	await.NoLeak(t)
	p := NewPool(Options{PredictTimeout: short, CancelGrace: short})
	w := newWorker(t, p, 1)
	f := start(t, p, "scribbles")
	w.lines[0].begin()
	w.lines[0].word(atRunning).Store(0xdeadbeef)
	await.Eventually(t, "the worker is killed", func() bool { return len(w.kills()) > 0 })
	w.bury("killed by the server")
	f.tookTooLong()
	empty(t, p)
}

// TestPredictTimeoutAfterABatch: what the model does with a result when its batch is done has the same limit.
func TestPredictTimeoutAfterABatch(t *testing.T) {
	await.NoLeak(t)
	p := NewPool(Options{Queue: 10, PredictTimeout: short, CancelGrace: time.Hour})
	r := newRider(t, p, rides())
	f := start(t, p, "1")
	r.over(r.begin("1"))
	f.tookTooLong()
	empty(t, p)
}

// TestStalledBeforeABatch: a worker that does not read what it is to prepare is stuck; one that prepares is busy.
func TestStalledBeforeABatch(t *testing.T) {
	await.NoLeak(t)
	p := NewPool(Options{Queue: 10})
	r := newRider(t, p, preparing())
	f := start(t, p, "1")
	r.stalls(1)
	r.stalls(2)
	one := r.hold("1")
	r.stalls(0)
	r.stalls(0)
	r.prepared(one)
	r.arrive(r.begin("1"))
	f.succeeded()
	r.clean()
}
