package slot

import (
	"testing"
	"time"

	"pinion/ipc"
	"pinion/tests/assert"
)

// stalls checks how often in a row a worker did not take a call.
func (w *fakeWorker) stalls(want int) {
	w.t.Helper()
	assert.Equal(w.t, "looks in a row that saw a call not taken", w.pool.Stalled(w.slots), want)
}

// TestStalled_SameCallCounts: only a free slot that does not take the same call counts, check by check.
func TestStalled_SameCallCounts(t *testing.T) {
	p, w := poolWithWorker(t, Options{Queue: 10}, 1)
	w.stalls(0)
	first := start(t, p, "first")
	w.stalls(1)
	w.stalls(2)
	r := w.ends[0].begin()
	w.stalls(0)
	second := start(t, p, "second") // it waits behind the first
	w.stalls(0)
	w.stalls(0)
	w.ends[0].succeed(r)
	first.succeeded()
	w.stalls(1)
	w.stalls(2)
	second.serveOne(w.ends[0])
	w.stalls(0)
	empty(t, p)
}

// TestStalled_BesideBusySlot: a loop that one call blocks does not take another's.
func TestStalled_BesideBusySlot(t *testing.T) {
	p, w := poolWithWorker(t, Options{Queue: 10}, 2)
	first := start(t, p, "first")
	busy, free := w.ends[0], w.ends[1]
	if locked(p, func() bool { return first.slot == w.slots[1] }) {
		busy, free = free, busy
	}
	r := busy.begin()
	w.stalls(0)
	second := start(t, p, "second")
	w.stalls(1)
	w.stalls(2)
	second.serveOne(free)
	w.stalls(0)
	busy.succeed(r)
	first.succeeded()
}

// TestStalled_CallsThatAreWithdrawn: a worker that takes none of several calls is stalled, though each is withdrawn.
func TestStalled_CallsThatAreWithdrawn(t *testing.T) {
	p, w := poolWithWorker(t, Options{Queue: 10}, 1)
	w.stalls(0)
	for i := range 3 {
		f := start(t, p, "one of many")
		w.stalls(i + 1)
		p.Cancel(f.Call)
		f.failed(ErrCanceled)
		w.stalls(i + 1)
	}
	start(t, p, "taken").serveOne(w.ends[0])
	w.stalls(0)
}

// TestStalled_ByAnotherCall: each call counts for itself.
func TestStalled_ByAnotherCall(t *testing.T) {
	p, w := poolWithWorker(t, Options{Queue: 10}, 1)
	for range 3 {
		f := start(t, p, "one of many")
		w.stalls(1)
		f.serveOne(w.ends[0])
	}
}

// TestStalled_ByOverwrittenClaim: the worker skips such a call and goes on, and the front cannot revoke it.
func TestStalled_ByOverwrittenClaim(t *testing.T) {
	p, w := poolWithWorker(t, Options{Queue: 10}, 1)
	l := w.ends[0]
	first, second := start(t, p, "first"), start(t, p, "second")
	l.word(atClaims + 8*ipc.ClaimIndex(l.expect().id)).Store(0)
	r := l.begin()
	w.stalls(1)
	w.stalls(2)
	l.succeed(r)
	second.succeeded()
	w.stalls(3)
	w.terminate("its page was overwritten")
	first.failedWithExit("its page was overwritten")
	empty(t, p)
}

// TestStalled_Batch: a batch counts as a call does.
func TestStalled_Batch(t *testing.T) {
	p, r := poolWithBatches(t, Options{Queue: 10}, batchesOfThree())
	f := start(t, p, "1")
	batch := r.batch()
	r.stalls(1)
	r.stalls(2)
	assert.TrueNow(t, r.end.claim(batch.id), "the batch was taken back")
	r.stalls(0)
	r.answerAll(batch)
	f.succeeded()
	r.stalls(0)
}

// TestStalled_PredictTimeoutWithOverwrittenPage: the model overwrites its running word.
func TestStalled_PredictTimeoutWithOverwrittenPage(t *testing.T) {
	p, w := poolWithWorker(t, Options{PredictTimeout: short, CancelGrace: short}, 1)
	f := start(t, p, "scribbles")
	w.ends[0].begin()
	w.ends[0].word(atRunning).Store(0xdeadbeef)
	assert.Eventually(t, "the worker is killed", func() bool { return len(w.kills()) > 0 })
	w.terminate("killed by the server")
	f.tookTooLong()
	empty(t, p)
}

// TestStalled_PredictTimeoutAfterBatch: a model's postprocess has the same limit.
func TestStalled_PredictTimeoutAfterBatch(t *testing.T) {
	p, r := poolWithBatches(t, Options{Queue: 10, PredictTimeout: short, CancelGrace: time.Hour}, batchesOfThree())
	f := start(t, p, "1")
	r.done(r.begin("1"))
	f.tookTooLong()
	empty(t, p)
}

// TestStalled_BeforeBatch: a worker that does not read its items is stuck; one that prepares is busy.
func TestStalled_BeforeBatch(t *testing.T) {
	p, r := poolWithBatches(t, Options{Queue: 10}, preparing())
	f := start(t, p, "1")
	r.stalls(1)
	r.stalls(2)
	first := r.item("1")
	r.stalls(0)
	r.stalls(0)
	r.prepared(first)
	r.answerAll(r.begin("1"))
	f.succeeded()
	r.noneLeft()
}
