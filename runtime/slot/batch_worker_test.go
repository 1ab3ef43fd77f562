package slot

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pinion/ipc"
	"pinion/runtime/batch"
	"pinion/tests/assert"
)

// batchesOfThree returns the options of most tests: at most three in a batch, and no wait for more.
func batchesOfThree() *BatchOptions {
	return &BatchOptions{Options: batch.Options{MaxSize: 3, MaxWait: batch.AtMost(0)}, Isolate: true}
}

// newBatchWorker attaches a worker with one slot whose calls are batched as b says.
func newBatchWorker(t testing.TB, p *Pool, b *BatchOptions) *batchWorker {
	t.Helper()
	w := prepareWorker(t, p, 1)
	w.batch = b
	w.attach()
	return batchWorkerOf(w)
}

// poolWithBatches returns a pool, as testPool does, and its worker, whose calls are batched as b says.
func poolWithBatches(t testing.TB, o Options, b *BatchOptions) (*Pool, *batchWorker) {
	t.Helper()
	p := testPool(t, o)
	return p, newBatchWorker(t, p, b)
}

func batchWorkerOf(w *fakeWorker) *batchWorker {
	return &batchWorker{fakeWorker: w, end: w.ends[0], items: map[uint64]request{}}
}

// batchWorker acts as a worker with batches, step by step.
type batchWorker struct {
	*fakeWorker
	end   *slotEnd
	items map[uint64]request // items that it has and has not answered
}

// receivedBatch is a batch as the worker knows it.
type receivedBatch struct {
	id    uint64
	items []request
}

func (r receivedBatch) names() []string {
	var names []string
	for _, it := range r.items {
		names = append(names, nameOf(it))
	}
	return names
}

// read reads the next frame, and stores an item.
func (r *batchWorker) read() request {
	r.t.Helper()
	f, err := r.end.next()
	if err != nil {
		r.t.Fatalf("no frame: got %v, want no error\n%s", err, assert.Stacks())
	}
	if f.flags&ipc.FlagBatchItem != 0 {
		r.items[f.id] = f
	}
	return f
}

// item reads an item.
func (r *batchWorker) item(name string) request {
	r.t.Helper()
	f := r.read()
	assert.TrueNow(r.t, f.kind == ipc.KindPredict && f.flags&ipc.FlagBatchItem != 0 && nameOf(f) == name,
		"got kind %d, flags %d, %s; want the item %s", f.kind, f.flags, f.body, name)
	return f
}

// batch reads up to the next batch.
func (r *batchWorker) batch() receivedBatch {
	r.t.Helper()
	for {
		switch f := r.read(); {
		case f.kind == ipc.KindBatch:
			return r.receive(f)
		case f.kind != ipc.KindPredict || f.flags&ipc.FlagBatchItem == 0:
			r.t.Fatalf("got kind %d, flags %d, %s; want an item or a batch", f.kind, f.flags, f.body)
		}
	}
}

// idsOf returns the ids in a Batch or a Drop.
func idsOf(f request) []uint64 {
	var body struct{ IDs []uint64 }
	_ = json.Unmarshal(f.body, &body) // no ids: the caller notices
	return body.IDs
}

func (r *batchWorker) receive(f request) receivedBatch {
	r.t.Helper()
	tr := receivedBatch{id: f.id}
	for _, id := range idsOf(f) {
		it, ok := r.items[id]
		assert.TrueNow(r.t, ok, "the batch %s names %d, which the worker does not have", f.body, id)
		tr.items = append(tr.items, it)
	}
	return tr
}

// begin reads the next batch, which must be of these, and claims it.
func (r *batchWorker) begin(names ...string) receivedBatch {
	r.t.Helper()
	tr := r.batch()
	got := tr.names()
	assert.TrueNow(r.t, slices.Equal(got, names), "a batch of %q, want %q", got, names)
	assert.TrueNow(r.t, r.end.claim(tr.id), "the batch of %q was taken back", names)
	return tr
}

// startTogether starts calls that find the worker busy with another one, and ends that: they leave as one batch.
func (r *batchWorker) startTogether(names ...string) []*testCall {
	r.t.Helper()
	other := start(r.t, r.pool, "0")
	tr := r.begin("0")
	fs := startAll(r.t, r.pool, names...)
	r.answerAll(tr)
	other.succeeded()
	return fs
}

// revoked reads the next batch, which must be of these and taken back, and does as the protocol says.
func (r *batchWorker) revoked(names ...string) {
	r.t.Helper()
	tr := r.batch()
	got := tr.names()
	assert.TrueNow(r.t, slices.Equal(got, names), "a batch of %q, want %q", got, names)
	assert.TrueNow(r.t, !r.end.claim(tr.id), "the batch of %q was not taken back", names)
	for _, it := range tr.items {
		r.answer(ipc.KindCanceled, it)
	}
}

// dropped reads a Drop, which must be of that item.
func (r *batchWorker) dropped(it request) {
	r.t.Helper()
	if f := r.read(); f.kind != ipc.KindDrop || !slices.Equal(idsOf(f), []uint64{it.id}) {
		r.t.Fatalf("got kind %d, %s; want a drop of %d", f.kind, f.body, it.id)
	}
}

// done says that the function has ended.
func (r *batchWorker) done(tr receivedBatch) { r.doneAfter(tr, time.Millisecond, 1, false) }

func (r *batchWorker) doneAfter(tr receivedBatch, took time.Duration, runs int, failed bool) {
	r.t.Helper()
	r.end.word(atRunning).Store(0)
	body := fmt.Appendf(nil, `{"runs":%d,"size":%d,"failed":%v}`, runs, len(tr.items), failed)
	assert.NoError(r.t, r.end.send(ipc.KindBatchDone, tr.id, took, body))
}

// answer ends an item.
func (r *batchWorker) answer(kind ipc.Kind, it request) {
	r.t.Helper()
	_, owed := r.items[it.id]
	assert.TrueNow(r.t, owed, "a second answer to %s", it.body)
	delete(r.items, it.id)
	assert.NoError(r.t, r.end.send(kind, it.id, time.Millisecond, it.body))
}

// answerAll ends a batch and answers its items.
func (r *batchWorker) answerAll(tr receivedBatch) {
	r.t.Helper()
	r.done(tr)
	for _, it := range tr.items {
		r.answer(ipc.KindSucceeded, it)
	}
}

// prepared says that items are prepared.
func (r *batchWorker) prepared(items ...request) {
	r.t.Helper()
	for _, it := range items {
		assert.NoError(r.t, r.end.send(ipc.KindPrepared, it.id, 0, nil))
	}
}

// noneLeft checks that nothing is left, on either side.
func (r *batchWorker) noneLeft() {
	r.t.Helper()
	empty(r.t, r.pool)
	assert.True(r.t, len(r.items) == 0, "the worker owes %d answers", len(r.items))
	s := r.slots[0]
	locked(r.pool, func() bool {
		for id, c := range s.batches.items {
			if c != nil {
				r.t.Errorf("%s is still an item, %d", c.Name, id)
			}
		}
		if s.outstanding != 0 || s.window.count != 0 || len(s.batches.runs) != 0 || s.window.free != ^uint64(0) ||
			s.worker.outstanding != 0 {
			r.t.Errorf("the slot has %d calls, %d in the window, %d batches, claims %#x, %d of the worker",
				s.outstanding, s.window.count, len(s.batches.runs), s.window.free, s.worker.outstanding)
		}
		return true
	})
}

// startKeyed starts a call with that key.
func startKeyed(t testing.TB, p *Pool, name, key string) *testCall {
	t.Helper()
	return startWith(t, p, name, func(c *Call) { c.Key = key })
}

// startWith starts a call that is changed first.
func startWith(t testing.TB, p *Pool, name string, change func(*Call)) *testCall {
	t.Helper()
	f := newTestCall(t, p, name)
	change(f.Call)
	p.Submit(f.Call)
	f.wait()
	return f
}

// startAll starts calls of one key.
func startAll(t testing.TB, p *Pool, names ...string) []*testCall {
	t.Helper()
	var fs []*testCall
	for _, name := range names {
		fs = append(fs, start(t, p, name))
	}
	return fs
}

// succeeded checks that all calls succeeded.
func succeeded(fs ...*testCall) {
	for _, f := range fs {
		f.t.Helper()
		f.succeeded()
	}
}

// inSlot checks how many batches a slot has and how many calls are queued.
func inSlot(t testing.TB, r *batchWorker, batches, queued int) {
	t.Helper()
	locked(r.pool, func() bool {
		n := len(r.slots[0].batches.runs)
		assert.True(t, n == batches && r.pool.admission.queue.len == queued,
			"%d batches in the slot and %d in the queue, want %d and %d", n, r.pool.admission.queue.len, batches, queued)
		return true
	})
}

// failedWithExit checks that the call failed with its worker's exit.
func (f *testCall) failedWithExit(cause string) {
	f.t.Helper()
	var exit *WorkerExitError
	if r := f.result(); !errors.As(r.Err, &exit) || exit.Cause != cause {
		f.t.Errorf("%s: kind %d, error %v; want the worker's exit, %q", f.Name, r.Kind, r.Err, cause)
	}
}
