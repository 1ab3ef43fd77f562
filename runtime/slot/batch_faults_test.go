package slot

import (
	"errors"
	"testing"
	"time"

	"pinion/ipc"
	"pinion/tests/assert"
)

func TestBatchFaults_CancelInRunningBatch(t *testing.T) {
	p, r := poolWithBatches(t, Options{Queue: 9}, batchesOfThree())
	fs := r.startTogether("1", "2", "3")
	tr := r.begin("1", "2", "3")
	parked(t, fs...)
	for i := range 2 { // at once, the leader too
		p.Cancel(fs[i].Call)
		fs[i].failed(ErrCanceled)
		r.dropped(tr.items[i])
	}
	assert.Equal(t, "interrupts while a call waits", r.interrupts.Load(), 0)
	r.done(tr)
	r.answer(ipc.KindCanceled, tr.items[0])
	r.answer(ipc.KindSucceeded, tr.items[1]) // the cancel came too late
	r.answer(ipc.KindSucceeded, tr.items[2])
	succeeded(fs[2])
	r.noneLeft()
	assert.Equal(t, "answers still expected", len(r.slots[0].batches.items), 0)
}

func TestBatchFaults_CancelAfterFunctionHasEnded(t *testing.T) {
	p, r := poolWithBatches(t, Options{Queue: 9}, batchesOfThree())
	f := start(t, p, "1")
	tr := r.begin("1")
	r.done(tr)
	assert.Eventually(t, "the end is known",
		func() bool { return locked(p, func() bool { return len(r.slots[0].batches.runs) == 0 }) })
	p.Cancel(f.Call)
	f.failed(ErrCanceled)
	r.dropped(tr.items[0])
	r.answer(ipc.KindSucceeded, tr.items[0])
	next := start(t, p, "2")
	r.answerAll(r.begin("2"))
	next.succeeded()
	r.noneLeft()
}

func TestBatchFaults_CancelOfAllInterrupts(t *testing.T) {
	p, r := poolWithBatches(t, Options{Queue: 9}, batchesOfThree())
	fs := r.startTogether("1", "2")
	tr := r.begin("1", "2")
	p.Cancel(fs[0].Call)
	p.Cancel(fs[1].Call)
	fs[0].failed(ErrCanceled)
	assert.True(t, r.interrupts.Load() != 0 && r.end.canceled(tr.id),
		"got %d interrupts, want some, and the batch %#x in the cancel word", r.interrupts.Load(), tr.id)
	r.dropped(tr.items[0])
	before := locked(p, func() time.Duration { return p.batches.queue.Cost().Of(2) })
	r.doneAfter(tr, time.Hour, 1, false)
	r.answer(ipc.KindCanceled, tr.items[0])
	r.answer(ipc.KindCanceled, tr.items[1])
	res := fs[1].result()
	assert.True(t, res.Kind == ipc.KindCanceled && res.Err == nil, "kind %d, error %v, want %v", res.Kind, res.Err, ipc.KindCanceled)
	assert.Equal(t, "cost of two after an interrupted batch",
		locked(p, func() time.Duration { return p.batches.queue.Cost().Of(2) }), before)
	r.noneLeft()
	assert.Equal(t, "kills", len(r.kills()), 0)
}

func TestBatchFaults_CancelTimeoutOfBatch(t *testing.T) {
	p, r := poolWithBatches(t, Options{CancelGrace: 5 * time.Millisecond}, batchesOfThree())
	f := start(t, p, "1")
	r.begin("1")
	p.Cancel(f.Call)
	assert.Eventually(t, "the worker is killed", func() bool { return len(r.kills()) > 0 })
	assert.Equal(t, "calls that ended", r.terminate("killed"), 1)
	f.failed(ErrCanceled)
	empty(t, p)
}

func TestBatchFaults_RuntimeLimitOfBatch(t *testing.T) {
	_, r := poolWithBatches(t, Options{Queue: 9, PredictTimeout: 20 * time.Millisecond}, batchesOfThree())
	fs := r.startTogether("1", "2")
	tr := r.begin("1", "2")
	assert.Eventually(t, "it is canceled", func() bool { return r.end.canceled(tr.id) })
	r.done(tr)
	for _, it := range tr.items {
		r.answer(ipc.KindCanceled, it)
	}
	for _, f := range fs {
		var late *TimeoutError
		if res := f.result(); !errors.As(res.Err, &late) || res.Kind != 0 {
			t.Errorf("%s: kind %d, error %v, want an error of type *TimeoutError and Kind 0", f.Name, res.Kind, res.Err)
		}
	}
	r.noneLeft()
}

// Each call that the dead worker's model had runs once more, alone. If its worker dies again, it fails with the cause.
func TestBatchFaults_WorkerExitWithBatch(t *testing.T) {
	p, r := poolWithBatches(t, Options{Queue: 9}, batchesOfThree())
	fs := r.startTogether("1", "2", "3", "4", "5", "6", "7")
	r.begin("1", "2", "3")
	r.batch() // the others have not begun
	parked(t, fs...)
	r.write("dying words")
	assert.Equal(t, "calls that ended", r.terminate("died"), 3)
	r = newBatchWorker(t, p, batchesOfThree())
	r.answerAll(r.begin("1"))
	r.begin("2")
	assert.Equal(t, "calls that ended", r.terminate("died again"), 1)
	r = newBatchWorker(t, p, batchesOfThree())
	r.answerAll(r.begin("3"))
	r.answerAll(r.begin("4", "5", "6"))
	r.answerAll(r.begin("7"))
	fs[1].failedWithExit("died again")
	succeeded(fs[0], fs[2], fs[3], fs[4], fs[5], fs[6])
	r.noneLeft()
}

func TestBatchFaults_WorkerExitWithoutIsolation(t *testing.T) {
	b := batchesOfThree()
	b.Isolate = false
	p, r := poolWithBatches(t, Options{Queue: 9}, b)
	fs := r.startTogether("1", "2", "3", "4")
	r.begin("1", "2", "3")
	p.Cancel(fs[0].Call)
	r.write("dying words")
	assert.Equal(t, "calls that ended", r.terminate("died"), 2)
	fs[0].failed(ErrCanceled)
	fs[1].failedWithExit("died")
	fs[2].failedWithExit("died")
	assert.Equal(t, "its log", string(fs[1].Result.Logs), "dying words")
	r = newBatchWorker(t, p, b)
	r.answerAll(r.begin("4"))
	fs[3].succeeded()
	r.noneLeft()
}

// A single item has crashed its worker: it does not run again.
func TestBatchFaults_WorkerExitWithBatchOfOne(t *testing.T) {
	p, r := poolWithBatches(t, Options{}, batchesOfThree())
	f := start(t, p, "1")
	r.begin("1")
	r.terminate("died")
	f.failedWithExit("died")
	empty(t, p)
}

// While the pool refuses calls no item runs again: all fail with the cause.
func TestBatchFaults_WorkerExitWithBatchWhileRefusing(t *testing.T) {
	p, r := poolWithBatches(t, Options{Queue: 9}, batchesOfThree())
	fs := r.startTogether("1", "2")
	r.begin("1", "2")
	p.Refuse(errors.New("the server is shutting down"))
	r.terminate("died")
	fs[0].failedWithExit("died")
	fs[1].failedWithExit("died")
	empty(t, p)
}

// Items that were answered have ended; the others run again.
func TestBatchFaults_WorkerExitBeforeAllAnswers(t *testing.T) {
	p, r := poolWithBatches(t, Options{Queue: 9}, batchesOfThree())
	fs := r.startTogether("1", "2", "3")
	tr := r.begin("1", "2", "3")
	r.done(tr)
	r.answer(ipc.KindSucceeded, tr.items[1])
	assert.Equal(t, "calls that ended", r.terminate("died"), 2)
	fs[1].succeeded()
	r = newBatchWorker(t, p, batchesOfThree())
	r.answerAll(r.begin("1"))
	r.answerAll(r.begin("3"))
	succeeded(fs...)
	r.noneLeft()
}

func TestBatchFaults_BatchViolations(t *testing.T) {
	for name, send := range map[string]func(*batchWorker, receivedBatch){
		"before the end": func(r *batchWorker, tr receivedBatch) { r.answer(ipc.KindSucceeded, tr.items[0]) },
		"twice": func(r *batchWorker, tr receivedBatch) {
			r.answerAll(tr)
			r.items[tr.items[0].id] = tr.items[0]
			r.answer(17, tr.items[0])
		},
		"the end twice":      func(r *batchWorker, tr receivedBatch) { r.done(tr); r.done(tr) },
		"the end of another": func(r *batchWorker, tr receivedBatch) { r.done(receivedBatch{id: tr.id + 64}) },
		"prepared":           func(r *batchWorker, tr receivedBatch) { r.prepared(tr.items[0]) },
		"rubbish": func(r *batchWorker, tr receivedBatch) {
			_ = r.end.send(ipc.KindBatchDone, tr.id, 0, []byte(`{"runs":`))
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, r := poolWithBatches(t, Options{Queue: 9}, batchesOfThree())
			start(t, p, "0")
			tr := r.begin("0")
			rest := startAll(t, p, "1")
			parked(t, rest...)
			send(r, tr)
			if name == "twice" {
				r.begin("1")
			}
			assert.Eventually(t, "the worker is killed", func() bool { return len(r.kills()) > 0 })
			r.terminate("killed")
			if name != "twice" {
				r = newBatchWorker(t, p, batchesOfThree())
				r.answerAll(r.begin("1"))
			}
			rest[0].result()
			empty(t, p)
		})
	}
}

// OnSettled of a canceled item waits until its worker has answered for it: the rest of its batch still runs.
func TestBatchFaults_OnSettled(t *testing.T) {
	p, r := poolWithBatches(t, Options{Queue: 9}, batchesOfThree())
	settled := make(map[string]int) // guarded by the pool's lock
	count := func(name string) int {
		n := 0
		locked(p, func() bool { n = settled[name]; return true })
		return n
	}
	begin := func(name string) *testCall {
		return startWith(t, p, name, func(c *Call) { c.OnSettled = func() { settled[name]++ } })
	}
	zero := begin("0")
	tr := r.begin("0")
	fs := []*testCall{begin("1"), begin("2"), begin("3")}
	parked(t, fs...)
	p.Cancel(fs[2].Call)
	fs[2].failed(ErrCanceled)
	assert.Equal(t, "times that 3, which has no worker, settled", count("3"), 1)
	r.answerAll(tr)
	zero.succeeded()
	r.revoked("1", "2", "3")
	tr = r.begin("1", "2")
	p.Cancel(fs[0].Call)
	fs[0].failed(ErrCanceled)
	r.dropped(tr.items[0])
	assert.Equal(t, "times that 1, which is still in a batch, settled", count("1"), 0)
	r.done(tr)
	r.answer(ipc.KindCanceled, tr.items[0])
	r.answer(ipc.KindSucceeded, tr.items[1])
	fs[1].succeeded()
	assert.Eventually(t, "1 settles", func() bool { return count("1") == 1 })
	last := []*testCall{begin("4"), begin("5")}
	r.begin("4")
	r.terminate("died")
	last[0].failedWithExit("died")
	assert.Eventually(t, "4 settles with its worker", func() bool { return count("4") == 1 })
	r = newBatchWorker(t, p, batchesOfThree())
	r.answerAll(r.begin("5"))
	last[1].succeeded()
	for _, name := range []string{"0", "2", "5"} {
		assert.Eventually(t, name+" settles", func() bool { return count(name) == 1 })
	}
	r.noneLeft()
}
