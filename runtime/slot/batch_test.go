package slot

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"pinion/ipc"
	"pinion/runtime/batch"
	"pinion/runtime/predict"
	"pinion/tests/assert"
)

func TestBatch_SingleRequestLeavesAtOnce(t *testing.T) {
	p, r := poolWithBatches(t, Options{}, batchesOfThree())
	for _, name := range []string{"a", "b"} {
		f := start(t, p, name)
		r.answerAll(r.begin(name))
		f.succeeded()
		assert.Equal(t, "elapsed", f.Result.Elapsed, time.Millisecond)
	}
	r.noneLeft()
}

func TestBatch_ArrivalsGatherWhileWorkerIsBusy(t *testing.T) {
	var sizes []int
	b := batchesOfThree()
	b.MaxSize = 8
	p, r := poolWithBatches(t, Options{OnBatch: func(size int, _ time.Duration) { sizes = append(sizes, size) }}, b)
	first := start(t, p, "1")
	tr := r.begin("1")
	fs := startAll(t, p, "2", "3", "4")
	parked(t, append(fs, first)...)
	inSlot(t, r, 1, 3)
	r.done(tr) // they leave before its answer
	next := r.begin("2", "3", "4")
	r.answer(ipc.KindSucceeded, tr.items[0])
	r.answerAll(next)
	succeeded(append(fs, first)...)
	r.noneLeft()
	assert.EqualSlices(t, "sizes", sizes, []int{1, 3})
}

func TestBatch_KeysNeverMix(t *testing.T) {
	p, r := poolWithBatches(t, Options{Queue: 9}, batchesOfThree())
	fs := []*testCall{startKeyed(t, p, "0", "x")}
	tr := r.begin("0")
	for _, name := range []string{"a1", "b1", "a2", "a3", "b2", "a4"} {
		fs = append(fs, startKeyed(t, p, name, name[:1]))
	}
	for _, want := range [][]string{{"a1", "a2", "a3"}, {"b1", "b2"}, {"a4"}} {
		r.answerAll(tr)
		tr = r.begin(want...)
	}
	r.answerAll(tr)
	succeeded(fs...)
	r.noneLeft()
}

func TestBatch_FullBatchLiesAhead(t *testing.T) {
	p, r := poolWithBatches(t, Options{Queue: 9}, batchesOfThree())
	fs := startAll(t, p, "1", "2", "3", "4", "5", "6", "7", "8")
	tr := r.begin("1")
	next := r.batch() // it lies in the worker before the first has ended
	assert.EqualSlices(t, "ahead", next.names(), []string{"2", "3", "4"})
	inSlot(t, r, 2, 4)
	r.answerAll(tr)
	assert.TrueNow(t, r.end.claim(next.id), "the batch was taken back")
	last := r.batch()
	r.answerAll(next)
	assert.TrueNow(t, r.end.claim(last.id), "the batch was taken back")
	r.answerAll(last)
	r.answerAll(r.begin("8"))
	succeeded(fs...)
	r.noneLeft()
}

// An idle worker gets the batch that waits behind another one in a busy worker, before later calls.
func TestBatch_AheadMovesToIdleWorker(t *testing.T) {
	p := testPool(t, Options{Queue: 9})
	busy := newBatchWorker(t, p, batchesOfThree())
	fs := startAll(t, p, "1", "2", "3", "4", "5")
	parked(t, fs...)
	tr := busy.begin("1")
	inSlot(t, busy, 2, 1)
	idle := newBatchWorker(t, p, batchesOfThree())
	other := idle.begin("2", "3", "4")
	busy.revoked("2", "3", "4")
	busy.answerAll(tr)
	busy.answerAll(busy.begin("5"))
	idle.answerAll(other)
	succeeded(fs...)
	busy.noneLeft()
	idle.noneLeft()
	assert.Eventually(t, "the answers to what was taken back are read", func() bool {
		f := start(t, p, "again") // its goroutine reads them
		r := idle
		if locked(p, func() bool { return f.slot == busy.slots[0] }) {
			r = busy
		}
		r.answerAll(r.begin("again"))
		f.succeeded()
		return locked(p, func() bool { return len(busy.slots[0].batches.items) == 0 })
	})
}

func TestBatch_CancelInBatchAhead(t *testing.T) {
	p, r := poolWithBatches(t, Options{Queue: 9}, batchesOfThree())
	fs := startAll(t, p, "1", "2", "3", "4", "5")
	parked(t, fs...)
	tr := r.begin("1")
	p.Cancel(fs[2].Call)
	fs[2].failed(ErrCanceled)
	inSlot(t, r, 2, 0) // the others and the next are full again
	r.revoked("2", "3", "4")
	r.answerAll(tr)
	r.answerAll(r.begin("2", "4", "5"))
	succeeded(fs[0], fs[1], fs[3], fs[4])
	r.noneLeft()
}

// While the pool refuses calls, a batch that lies in a worker stays there.
func TestBatch_CancelInBatchAheadWhileRefusing(t *testing.T) {
	p, r := poolWithBatches(t, Options{Queue: 9}, batchesOfThree())
	fs := startAll(t, p, "1", "2", "3", "4", "5")
	parked(t, fs...)
	tr := r.begin("1")
	stopped := &predict.NotReadyError{}
	p.Refuse(stopped)
	fs[4].failed(stopped)
	p.Cancel(fs[2].Call)
	fs[2].failed(ErrCanceled)
	r.answerAll(tr)
	next := r.begin("2", "3", "4")
	r.dropped(next.items[1])
	r.done(next)
	r.answer(ipc.KindSucceeded, next.items[0])
	r.answer(ipc.KindCanceled, next.items[1])
	r.answer(ipc.KindSucceeded, next.items[2])
	succeeded(fs[0], fs[1], fs[3])
	r.noneLeft()
}

// Two calls of a batch that lies ahead are late, one after the other; the third runs.
func TestBatch_DeadlinesInBatchAhead(t *testing.T) {
	p, r := poolWithBatches(t, Options{Queue: 9}, batchesOfThree())
	first := start(t, p, "1")
	tr := r.begin("1")
	var late []*testCall
	for i, name := range []string{"2", "3"} {
		deadline := time.Now().Add(time.Second + time.Duration(i)*100*time.Millisecond) // the batch must form before
		late = append(late, startDue(t, p, name, deadline))
	}
	last := start(t, p, "4")
	inSlot(t, r, 2, 0)
	late[0].failed(predict.ErrQueueTimeout)
	late[1].failed(predict.ErrQueueTimeout)
	r.revoked("2", "3", "4")
	r.answerAll(tr)
	r.answerAll(r.begin("4"))
	succeeded(first, last)
	r.noneLeft()
}

func TestBatch_AheadOfRetiringWorker(t *testing.T) {
	p := NewPool(Options{Queue: 9})
	old := newBatchWorker(t, p, batchesOfThree())
	fs := startAll(t, p, "1", "2", "3", "4", "5")
	parked(t, fs...)
	tr := old.begin("1")
	drained := p.Retire(old.slots)
	old.revoked("2", "3", "4")
	inSlot(t, old, 1, 4)
	b := batchesOfThree()
	b.MaxSize = 2 // the new version of the model
	fresh := newBatchWorker(t, p, b)
	next := fresh.begin("2", "3")
	old.answerAll(tr)
	<-drained
	fresh.answerAll(next)
	fresh.answerAll(fresh.begin("4", "5"))
	succeeded(fs...)
	fresh.noneLeft()
	old.noneLeft()
}

// Calls of a retired worker are queued by their arrival, before later ones, though their serial numbers are higher.
func TestBatch_ReloadKeepsOrder(t *testing.T) {
	p := NewPool(Options{Queue: 9})
	old := newBatchWorker(t, p, batchesOfThree())
	for _, name := range []string{"a", "b", "c", "d"} {
		f := start(t, p, name)
		old.answerAll(old.begin(name))
		f.succeeded()
	}
	fs := startAll(t, p, "1", "2", "3", "4", "5")
	parked(t, fs...)
	begun := old.begin("1")
	b := batchesOfThree()
	b.MaxSize = 2
	fresh := newBatchWorker(t, p, b) // the batch ahead is too large for it
	tr := fresh.begin("5")
	p.Retire(old.slots)
	fs = append(fs, startAll(t, p, "6", "7")...)
	fresh.answerAll(tr)
	for _, names := range [][]string{{"2", "3"}, {"4", "6"}, {"7"}} {
		fresh.answerAll(fresh.begin(names...))
	}
	old.answerAll(begun)
	succeeded(fs...)
	fresh.noneLeft()
}

func TestBatch_CapacityWithBatches(t *testing.T) {
	p, r := poolWithBatches(t, Options{Queue: 2}, batchesOfThree())
	fs := startAll(t, p, "1", "2", "3", "4", "5", "6", "7", "8")
	assert.Equal(t, "the load", p.Load(), Load{Slots: 1, Capacity: 6, InFlight: 8, Queued: 4})
	err, ok := errors.AsType[*predict.QueueFullError](p.Admit(nil))
	assert.True(t, ok, "a full pool says %v", err)
	tr := r.begin("1")
	for i, want := range []int{0, 1, 2, 3, 4, 5, 6, 7} {
		if i < 4 && i > 0 {
			want = 1 + i - 1
		}
		assert.Equal(t, fmt.Sprintf("%s has position", fs[i].Name), p.QueuePosition(fs[i].Call), want)
	}
	for len(fs) > 0 {
		r.answerAll(tr)
		succeeded(fs[:len(tr.items)]...)
		if fs = fs[len(tr.items):]; len(fs) > 0 {
			tr = r.batch()
			assert.TrueNow(t, r.end.claim(tr.id), "the batch was taken back")
		}
	}
	r.noneLeft()
}

// A hold of the policy ends by the timer.
func TestBatch_HoldEnds(t *testing.T) {
	assert.NoLeak(t)
	holds := make(chan time.Duration, 1)
	p := NewPool(Options{OnBatch: func(_ int, d time.Duration) { holds <- d }})
	p.batches.origin = time.Now().Add(-time.Hour)
	b := batchesOfThree()
	b.MaxWait = batch.AtMost(2 * time.Second)
	r := newBatchWorker(t, p, b)
	locked(p, func() bool { // the queue has learned that more calls arrive soon and are worth a wait
		for i := range 20 {
			it, at := &batch.Item[*Call]{}, time.Duration(i)*200*time.Millisecond
			p.batches.queue.Add(it, at)
			p.batches.queue.Take(at, 1, 1, nil)
			if p.batches.queue.Remove(it); p.batches.queue.Len() > 0 {
				t.Errorf("an item is left in the queue: got %d, want none", p.batches.queue.Len())
			}
			p.batches.queue.Ended(at+time.Millisecond, 1, 10*time.Second)
		}
		return true
	})
	f := start(t, p, "a")
	inSlot(t, r, 0, 1)
	r.answerAll(r.begin("a"))
	f.succeeded()
	d := <-holds
	assert.True(t, d > 0, "it was held back for %s, want more than 0", d)
	r.noneLeft()
}
