package slot

import (
	"fmt"
	"testing"
	"time"

	"pinion/ipc"
	"pinion/runtime/predict"
	"pinion/tests/assert"
)

// preparing returns options of a model that prepares items: batches of at most two.
func preparing() *BatchOptions {
	b := batchesOfThree()
	b.MaxSize, b.Prepare = 2, true
	return b
}

func TestBatchPrepare_PreparedItemsAreBatched(t *testing.T) {
	p, r := poolWithBatches(t, Options{Queue: 9}, preparing())
	fs := startAll(t, p, "1", "2", "3", "4", "5", "6")
	parked(t, fs...)
	first, second, third, fourth := r.item("1"), r.item("2"), r.item("3"), r.item("4") // two full batches, and no more
	inSlot(t, r, 0, 2)
	r.prepared(second)
	tr := r.begin("2")
	r.prepared(fourth, first, third, third) // a batch has the order in which its items were prepared
	for _, f := range fs[:4] {
		assert.Eventually(t, f.Name+" is ready", func() bool { return locked(p, func() bool { return f.batch.prepared }) })
	}
	inSlot(t, r, 1, 2)
	r.answerAll(tr)
	fs[1].succeeded()
	next := r.begin("4", "1")
	r.prepared(r.item("5"))
	assert.Eventually(t, "5 is ready", func() bool { return locked(p, func() bool { return fs[4].batch.prepared }) })
	r.answerAll(next)
	next = r.begin("3", "5")
	r.prepared(r.item("6"))
	r.answerAll(next)
	r.answerAll(r.begin("6"))
	succeeded(fs...)
	r.noneLeft()
	assert.Equal(t, "answers still expected", len(r.slots[0].batches.items), 0)
}

// An item whose preparation fails makes room for another.
func TestBatchPrepare_FailedPreparation(t *testing.T) {
	p, r := poolWithBatches(t, Options{Queue: 9}, preparing())
	fs := startAll(t, p, "1", "2", "3", "4", "5")
	first := r.item("1")
	rest := []request{r.item("2"), r.item("3"), r.item("4")}
	r.answer(ipc.KindFailed, first)
	if res := fs[0].result(); res.Kind != ipc.KindFailed || res.Elapsed != time.Millisecond {
		t.Errorf("kind %d, error %v, %s, want %v and %v", res.Kind, res.Err, res.Elapsed, ipc.KindFailed, time.Millisecond)
	}
	rest = append(rest, r.item("5"))
	r.prepared(rest[0])
	tr := r.begin("2")
	r.prepared(rest[1:]...)
	r.answerAll(tr)
	r.answerAll(r.begin("3", "4"))
	r.answerAll(r.begin("5"))
	succeeded(fs[1:]...)
	r.noneLeft()
}

func TestBatchPrepare_CancelDuringPreparation(t *testing.T) {
	p, r := poolWithBatches(t, Options{Queue: 9}, preparing())
	fs := startAll(t, p, "1", "2", "3", "4", "5")
	parked(t, fs...)
	var items []request
	for _, name := range []string{"1", "2", "3", "4"} {
		items = append(items, r.item(name))
	}
	r.prepared(items[0])
	tr := r.begin("1")
	r.prepared(items[2])
	assert.Eventually(t, "3 is ready", func() bool { return locked(p, func() bool { return fs[2].batch.prepared }) })
	for _, i := range []int{1, 2} { // one during its preparation, one that waits for its batch
		p.Cancel(fs[i].Call)
		fs[i].failed(ErrCanceled)
	}
	r.dropped(items[1])
	five := r.item("5")
	r.dropped(items[2])
	r.prepared(items[1]) // the drop came too late, and is sent again
	r.dropped(items[1])
	r.answer(ipc.KindCanceled, items[1])
	r.answer(ipc.KindCanceled, items[2])
	r.prepared(five, items[3])
	assert.Eventually(t, "4 is ready", func() bool { return locked(p, func() bool { return fs[3].batch.prepared }) })
	r.answerAll(tr)
	r.answerAll(r.begin("5", "4"))
	succeeded(fs[0], fs[3], fs[4])
	r.noneLeft()
}

func TestBatchPrepare_DeadlineDuringPreparation(t *testing.T) {
	p, r := poolWithBatches(t, Options{Queue: 9}, preparing())
	f := startDue(t, p, "1", time.Now().Add(10*time.Millisecond))
	first := r.item("1")
	f.failed(predict.ErrQueueTimeout)
	r.dropped(first)
	r.answer(ipc.KindCanceled, first)
	next := start(t, p, "2")
	two := r.item("2")
	r.prepared(two)
	r.answerAll(r.begin("2"))
	next.succeeded()
	r.noneLeft()
}

// Items of a dead worker are prepared again, each alone in a worker.
func TestBatchPrepare_WorkerExitDuringPreparation(t *testing.T) {
	p, r := poolWithBatches(t, Options{Queue: 9}, preparing())
	fs := startAll(t, p, "1", "2", "3", "4", "5")
	parked(t, fs...)
	first, second := r.item("1"), r.item("2")
	r.prepared(first)
	r.item("3")
	r.item("4")
	r.begin("1")
	r.prepared(second)
	assert.Eventually(t, "2 is ready", func() bool { return locked(p, func() bool { return fs[1].batch.prepared }) })
	assert.Equal(t, "calls that ended", r.terminate("died"), 1)
	fs[0].failedWithExit("died")
	r = newBatchWorker(t, p, preparing())
	for _, name := range []string{"2", "3", "4", "5"} {
		named := r.item(name)
		inSlot(t, r, 0, int('5'-name[0]))
		r.prepared(named)
		r.answerAll(r.begin(name))
	}
	succeeded(fs[1:]...)
	r.noneLeft()
}

// An item whose preparation crashes its worker does so once with others, and once alone: then it fails.
func TestBatchPrepare_PreparationCrashesWorker(t *testing.T) {
	p, r := poolWithBatches(t, Options{Queue: 9}, preparing())
	fs := startAll(t, p, "1", "2", "3")
	parked(t, fs...)
	r.item("1")
	r.item("2")
	r.item("3")
	assert.Equal(t, "calls that ended", r.terminate("died"), 0)
	r = newBatchWorker(t, p, preparing())
	r.item("1")
	inSlot(t, r, 0, 2)
	assert.Equal(t, "calls that ended", r.terminate("died again"), 1)
	fs[0].failedWithExit("died again")
	r = newBatchWorker(t, p, preparing())
	for _, name := range []string{"2", "3"} {
		r.prepared(r.item(name))
		r.answerAll(r.begin(name))
	}
	succeeded(fs[1:]...)
	r.noneLeft()
}

// A retiring worker finishes the items that it has, and gets no more.
func TestBatchPrepare_RetiringWorkerFinishesItems(t *testing.T) {
	p, r := poolWithBatches(t, Options{Queue: 9}, preparing())
	fs := startAll(t, p, "1", "2", "3", "4")
	late := startDue(t, p, "5", time.Now().Add(time.Hour))
	var items []request
	for i := range 4 {
		items = append(items, r.item(fmt.Sprint(i+1)))
	}
	r.prepared(items[0])
	tr := r.begin("1")
	drained := p.Retire(r.slots)
	r.prepared(items[1:]...)
	assert.Eventually(t, "4 is ready", func() bool { return locked(p, func() bool { return fs[3].batch.prepared }) })
	r.answerAll(tr)
	r.answerAll(r.begin("2", "3"))
	r.answerAll(r.begin("4"))
	<-drained
	succeeded(fs...)
	n := p.Load()
	assert.True(t, n.InFlight == 1 && n.Queued == 1 && n.Slots == 0, "the load is %+v, want InFlight 1, Queued 1 and Slots 0", n)
	fresh := newBatchWorker(t, p, preparing())
	fresh.prepared(fresh.item("5"))
	fresh.answerAll(fresh.begin("5"))
	late.succeeded()
	fresh.noneLeft()
}

// When its last item is late, a retiring worker is empty.
func TestBatchPrepare_LastItemOfRetiringWorkerIsLate(t *testing.T) {
	p := NewPool(Options{Queue: 9})
	r, other := newBatchWorker(t, p, preparing()), newBatchWorker(t, p, preparing())
	var fs []*testCall
	for _, name := range []string{"1", "2"} {
		fs = append(fs, startDue(t, p, name, time.Now().Add(30*time.Millisecond)))
	}
	drained := p.Retire(r.slots)
	fs[0].failed(predict.ErrQueueTimeout)
	fs[1].failed(predict.ErrQueueTimeout)
	<-drained
	other.dropped(other.item("2"))
	f := start(t, p, "3")
	other.prepared(other.item("3"))
	other.answerAll(other.begin("3"))
	f.succeeded()
	empty(t, p)
}

// An unusable worker gets no batch of the items that it has prepared.
func TestBatchPrepare_UnusableWorkerGivesBackItems(t *testing.T) {
	p := NewPool(Options{Queue: 9})
	w := prepareWorker(t, p, 1)
	unusable := 0
	w.hooks = Hooks{IsFatal: func([]byte) bool { return true }, FatalAnswer: func([]byte) { unusable++ }}
	w.batch = preparing()
	w.attach()
	r := batchWorkerOf(w)
	fs := startAll(t, p, "1", "2", "3")
	parked(t, fs...)
	items := []request{r.item("1"), r.item("2"), r.item("3")}
	r.prepared(items[0])
	tr := r.begin("1")
	r.prepared(items[1])
	assert.Eventually(t, "2 is ready", func() bool { return locked(p, func() bool { return fs[1].batch.prepared }) })
	r.done(tr)
	r.answer(ipc.KindFailed, tr.items[0])
	fs[0].result()
	fresh := newBatchWorker(t, p, preparing())
	assert.Equal(t, "reports that it is unusable", unusable, 1)
	again := []request{fresh.item("2"), fresh.item("3")}
	fresh.prepared(again[0])
	tr = fresh.begin("2")
	fresh.prepared(again[1])
	fresh.answerAll(tr)
	fresh.answerAll(fresh.begin("3"))
	succeeded(fs[1:]...)
	fresh.noneLeft()
}
