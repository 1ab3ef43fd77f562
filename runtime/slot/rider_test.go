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
	"pinion/tests/await"
)

// rides are the options of most tests: three together, and nobody waits for company.
func rides() *Batch {
	return &Batch{Options: batch.Options{MaxSize: 3, MaxWait: batch.AtMost(0)}, Isolate: true}
}

// newRider attaches a worker with one slot whose calls ride as b says.
func newRider(t testing.TB, p *Pool, b *Batch) *rider {
	t.Helper()
	w := prepareWorker(t, p, 1)
	w.batch = b
	w.attach()
	return newRiderOf(w)
}

func newRiderOf(w *fakeWorker) *rider {
	return &rider{fakeWorker: w, line: w.lines[0], held: map[uint64]request{}}
}

// rider plays the part of a worker with batches, step by step.
type rider struct {
	*fakeWorker
	line *line
	held map[uint64]request // items that it has, and that it owes an answer
}

// trip is a ride as the worker knows it.
type trip struct {
	id    uint64
	items []request
}

func (r trip) names() []string {
	var names []string
	for _, it := range r.items {
		names = append(names, nameOf(it))
	}
	return names
}

// read reads the next frame, and keeps what is to be held.
func (r *rider) read() request {
	r.t.Helper()
	f, err := r.line.next()
	if err != nil {
		r.t.Fatalf("no frame: %v\n%s", err, await.Stacks())
	}
	if f.flags&ipc.FlagHeld != 0 {
		r.held[f.id] = f
	}
	return f
}

// hold reads an item.
func (r *rider) hold(name string) request {
	r.t.Helper()
	f := r.read()
	if f.kind != ipc.KindPredict || f.flags&ipc.FlagHeld == 0 || nameOf(f) != name {
		r.t.Fatalf("got kind %d, flags %d, %s; want the item %s", f.kind, f.flags, f.body, name)
	}
	return f
}

// gather reads up to the next batch.
func (r *rider) gather() trip {
	r.t.Helper()
	for {
		switch f := r.read(); {
		case f.kind == ipc.KindBatch:
			return r.board(f)
		case f.kind != ipc.KindPredict || f.flags&ipc.FlagHeld == 0:
			r.t.Fatalf("got kind %d, flags %d, %s; want an item or a batch", f.kind, f.flags, f.body)
		}
	}
}

// idsOf are the ids in a Batch or a Drop.
func idsOf(f request) []uint64 {
	var body struct{ IDs []uint64 }
	_ = json.Unmarshal(f.body, &body) // no ids: whoever asks sees it
	return body.IDs
}

func (r *rider) board(f request) trip {
	r.t.Helper()
	tr := trip{id: f.id}
	for _, id := range idsOf(f) {
		it, ok := r.held[id]
		if !ok {
			r.t.Fatalf("the batch %s names %d, which is not held", f.body, id)
		}
		tr.items = append(tr.items, it)
	}
	return tr
}

// begin reads the next batch, which must be of these, and claims it.
func (r *rider) begin(names ...string) trip {
	r.t.Helper()
	tr := r.gather()
	if got := tr.names(); !slices.Equal(got, names) {
		r.t.Fatalf("a batch of %q, want %q", got, names)
	}
	if !r.line.claim(tr.id) {
		r.t.Fatalf("the batch of %q was taken back", names)
	}
	return tr
}

// bunch starts calls that find the worker busy with another, which then arrives: they can ride together.
func (r *rider) bunch(names ...string) []*flight {
	r.t.Helper()
	other := start(r.t, r.pool, "0")
	tr := r.begin("0")
	fs := startAll(r.t, r.pool, names...)
	r.arrive(tr)
	other.succeeded()
	return fs
}

// revoked reads the next batch, which must be of these and taken back, and does as the protocol says.
func (r *rider) revoked(names ...string) {
	r.t.Helper()
	tr := r.gather()
	if got := tr.names(); !slices.Equal(got, names) {
		r.t.Fatalf("a batch of %q, want %q", got, names)
	}
	if r.line.claim(tr.id) {
		r.t.Fatalf("the batch of %q was not taken back", names)
	}
	for _, it := range tr.items {
		r.answer(ipc.KindCanceled, it)
	}
}

// dropped reads a Drop, which must be of that item.
func (r *rider) dropped(it request) {
	r.t.Helper()
	if f := r.read(); f.kind != ipc.KindDrop || !slices.Equal(idsOf(f), []uint64{it.id}) {
		r.t.Fatalf("got kind %d, %s; want a drop of %d", f.kind, f.body, it.id)
	}
}

// over says that the function has ended.
func (r *rider) over(tr trip) { r.overAfter(tr, time.Millisecond, 1, false) }

func (r *rider) overAfter(tr trip, took time.Duration, runs int, failed bool) {
	r.t.Helper()
	r.line.word(atRunning).Store(0)
	body := fmt.Appendf(nil, `{"runs":%d,"size":%d,"failed":%v}`, runs, len(tr.items), failed)
	if err := r.line.send(ipc.KindBatchDone, tr.id, took, body); err != nil {
		r.t.Fatal(err)
	}
}

// answer ends an item.
func (r *rider) answer(kind ipc.Kind, it request) {
	r.t.Helper()
	if _, owed := r.held[it.id]; !owed {
		r.t.Fatalf("a second answer to %s", it.body)
	}
	delete(r.held, it.id)
	if err := r.line.send(kind, it.id, time.Millisecond, it.body); err != nil {
		r.t.Fatal(err)
	}
}

// arrive ends a ride well.
func (r *rider) arrive(tr trip) {
	r.t.Helper()
	r.over(tr)
	for _, it := range tr.items {
		r.answer(ipc.KindSucceeded, it)
	}
}

// prepared says that an item can ride.
func (r *rider) prepared(items ...request) {
	r.t.Helper()
	for _, it := range items {
		if err := r.line.send(ipc.KindPrepared, it.id, 0, nil); err != nil {
			r.t.Fatal(err)
		}
	}
}

// clean checks that nothing is left, on either side.
func (r *rider) clean() {
	r.t.Helper()
	empty(r.t, r.pool)
	if len(r.held) > 0 {
		r.t.Errorf("the worker owes %d answers", len(r.held))
	}
	s := r.slots[0]
	locked(r.pool, func() bool {
		for id, c := range s.riders {
			if c != nil {
				r.t.Errorf("%s is still a rider, %d", c.Name, id)
			}
		}
		if s.count != 0 || s.plain != 0 || len(s.rides) != 0 || s.free != ^uint64(0) || s.crew.busy != 0 {
			r.t.Errorf("the slot: %d calls, %d plain, %d rides, claims %#x, busy %d", s.count, s.plain, len(s.rides), s.free, s.crew.busy)
		}
		return true
	})
}

// startRide starts a call with that key.
func startRide(t testing.TB, p *Pool, name, key string) *flight {
	t.Helper()
	return startWith(t, p, name, func(c *Call) { c.Key = key })
}

// startWith starts a call that is changed first.
func startWith(t testing.TB, p *Pool, name string, change func(*Call)) *flight {
	t.Helper()
	f := newFlight(t, p, name)
	change(f.Call)
	p.Submit(f.Call)
	f.wait()
	return f
}

// startAll starts calls of one key.
func startAll(t testing.TB, p *Pool, names ...string) []*flight {
	t.Helper()
	var fs []*flight
	for _, name := range names {
		fs = append(fs, start(t, p, name))
	}
	return fs
}

// succeeded checks that all of them have.
func succeeded(fs ...*flight) {
	for _, f := range fs {
		f.t.Helper()
		f.succeeded()
	}
}

// lies checks how many rides a slot has and how many calls are queued.
func lies(t testing.TB, r *rider, rides, queued int) {
	t.Helper()
	locked(r.pool, func() bool {
		if n := len(r.slots[0].rides); n != rides || r.pool.queue.len != queued {
			t.Errorf("%d rides in the slot and %d in the queue, want %d and %d", n, r.pool.queue.len, rides, queued)
		}
		return true
	})
}

// lostWith checks that the call failed with its worker.
func (f *flight) lostWith(cause string) {
	f.t.Helper()
	var lost *LostError
	if r := f.result(); !errors.As(r.Err, &lost) || lost.Cause != cause {
		f.t.Errorf("%s: kind %d, error %v; want it lost with %q", f.Name, r.Kind, r.Err, cause)
	}
}
