package slot

import (
	"slices"
	"testing"
	"time"

	"pinion/ipc"
	"pinion/runtime/batch"
	"pinion/runtime/predict"
	"pinion/tests/await"
)

func TestALoneRequestLeavesAtOnce(t *testing.T) {
	await.NoLeak(t)
	p := NewPool(Options{})
	r := newRider(t, p, rides())
	for _, name := range []string{"a", "b"} {
		f := start(t, p, name)
		r.arrive(r.begin(name))
		f.succeeded()
		if f.Result.Elapsed != time.Millisecond {
			t.Errorf("it took %s", f.Result.Elapsed)
		}
	}
	r.clean()
}

func TestArrivalsGatherWhileAWorkerIsBusy(t *testing.T) {
	var sizes []int
	b := rides()
	b.MaxSize = 8
	p := NewPool(Options{OnBatch: func(size int, held time.Duration) { sizes = append(sizes, size) }})
	r := newRider(t, p, b)
	first := start(t, p, "1")
	tr := r.begin("1")
	fs := startAll(t, p, "2", "3", "4")
	parked(t, append(fs, first)...)
	lies(t, r, 1, 3)
	r.over(tr) // they leave though the answer has not come
	next := r.begin("2", "3", "4")
	r.answer(ipc.KindSucceeded, tr.items[0])
	r.arrive(next)
	succeeded(append(fs, first)...)
	r.clean()
	if !slices.Equal(sizes, []int{1, 3}) {
		t.Errorf("batches of %v", sizes)
	}
}

func TestKeysNeverMix(t *testing.T) {
	p := NewPool(Options{Queue: 9})
	r := newRider(t, p, rides())
	fs := []*flight{startRide(t, p, "0", "x")}
	tr := r.begin("0")
	for _, name := range []string{"a1", "b1", "a2", "a3", "b2", "a4"} {
		fs = append(fs, startRide(t, p, name, name[:1]))
	}
	for _, want := range [][]string{{"a1", "a2", "a3"}, {"b1", "b2"}, {"a4"}} {
		r.arrive(tr)
		tr = r.begin(want...)
	}
	r.arrive(tr)
	succeeded(fs...)
	r.clean()
}

func TestAFullRideLiesAhead(t *testing.T) {
	p := NewPool(Options{Queue: 9})
	r := newRider(t, p, rides())
	fs := startAll(t, p, "1", "2", "3", "4", "5", "6", "7", "8")
	tr := r.begin("1")
	next := r.gather() // it is there before the first is over
	if !slices.Equal(next.names(), []string{"2", "3", "4"}) {
		t.Errorf("ahead lies %q", next.names())
	}
	lies(t, r, 2, 4)
	r.arrive(tr)
	if !r.line.claim(next.id) {
		t.Fatal("it was taken back")
	}
	last := r.gather()
	r.arrive(next)
	if !r.line.claim(last.id) {
		t.Fatal("it was taken back")
	}
	r.arrive(last)
	r.arrive(r.begin("8"))
	succeeded(fs...)
	r.clean()
}

// An idle worker gets the ride that lies behind a busy one, and gets it before what came later.
func TestARideAheadMovesToAnIdleWorker(t *testing.T) {
	await.NoLeak(t)
	p := NewPool(Options{Queue: 9})
	busy := newRider(t, p, rides())
	fs := startAll(t, p, "1", "2", "3", "4", "5")
	parked(t, fs...)
	tr := busy.begin("1")
	lies(t, busy, 2, 1)
	idle := newRider(t, p, rides())
	other := idle.begin("2", "3", "4")
	busy.revoked("2", "3", "4")
	busy.arrive(tr)
	busy.arrive(busy.begin("5"))
	idle.arrive(other)
	succeeded(fs...)
	busy.clean()
	idle.clean()
	await.Eventually(t, "nobody waits for the answers of what was taken back", func() bool {
		f := start(t, p, "again") // for somebody must read them
		r := idle
		if locked(p, func() bool { return f.slot == busy.slots[0] }) {
			r = busy
		}
		r.arrive(r.begin("again"))
		f.succeeded()
		return locked(p, func() bool { return len(busy.slots[0].riders) == 0 })
	})
}

func TestCancelInARideAhead(t *testing.T) {
	p := NewPool(Options{Queue: 9})
	r := newRider(t, p, rides())
	fs := startAll(t, p, "1", "2", "3", "4", "5")
	parked(t, fs...)
	tr := r.begin("1")
	p.Cancel(fs[2].Call)
	fs[2].failed(ErrCanceled)
	lies(t, r, 2, 0) // the others and the next are full again
	r.revoked("2", "3", "4")
	r.arrive(tr)
	r.arrive(r.begin("2", "4", "5"))
	succeeded(fs[0], fs[1], fs[3], fs[4])
	r.clean()
}

// While the server drains, what has its place in a worker keeps it.
func TestCancelInARideAheadWhileThePoolIsStopped(t *testing.T) {
	p := NewPool(Options{Queue: 9})
	r := newRider(t, p, rides())
	fs := startAll(t, p, "1", "2", "3", "4", "5")
	parked(t, fs...)
	tr := r.begin("1")
	stopped := &predict.NotReadyError{}
	p.Refuse(stopped)
	fs[4].failed(stopped)
	p.Cancel(fs[2].Call)
	fs[2].failed(ErrCanceled)
	r.arrive(tr)
	next := r.begin("2", "3", "4")
	r.dropped(next.items[1])
	r.over(next)
	r.answer(ipc.KindSucceeded, next.items[0])
	r.answer(ipc.KindCanceled, next.items[1])
	r.answer(ipc.KindSucceeded, next.items[2])
	succeeded(fs[0], fs[1], fs[3])
	r.clean()
}

// Of a ride that lies ahead two are late, one after the other; the third rides.
func TestDeadlinesInARideAhead(t *testing.T) {
	p := NewPool(Options{Queue: 9})
	r := newRider(t, p, rides())
	first := start(t, p, "1")
	tr := r.begin("1")
	var late []*flight
	for i, name := range []string{"2", "3"} {
		late = append(late, startWith(t, p, name, func(c *Call) {
			c.Deadline = time.Now().Add(time.Duration(50+100*i) * time.Millisecond)
		}))
	}
	last := start(t, p, "4")
	lies(t, r, 2, 0)
	late[0].failed(predict.ErrQueueTimeout)
	late[1].failed(predict.ErrQueueTimeout)
	r.revoked("2", "3", "4")
	r.arrive(tr)
	r.arrive(r.begin("4"))
	succeeded(first, last)
	r.clean()
}

func TestARideAheadOfALeavingWorker(t *testing.T) {
	p := NewPool(Options{Queue: 9})
	old := newRider(t, p, rides())
	fs := startAll(t, p, "1", "2", "3", "4", "5")
	parked(t, fs...)
	tr := old.begin("1")
	gone := p.Retire(old.slots)
	old.revoked("2", "3", "4")
	lies(t, old, 1, 4)
	b := rides()
	b.MaxSize = 2 // the new version of the model
	fresh := newRider(t, p, b)
	next := fresh.begin("2", "3")
	old.arrive(tr)
	<-gone
	fresh.arrive(next)
	fresh.arrive(fresh.begin("4", "5"))
	succeeded(fs...)
	fresh.clean()
	old.clean()
}

// What an old worker gives back keeps its place before what waits for the new one, also where it had a high number.
func TestAReloadKeepsTheOrder(t *testing.T) {
	p := NewPool(Options{Queue: 9})
	old := newRider(t, p, rides())
	for _, name := range []string{"a", "b", "c", "d"} {
		f := start(t, p, name)
		old.arrive(old.begin(name))
		f.succeeded()
	}
	fs := startAll(t, p, "1", "2", "3", "4", "5")
	parked(t, fs...)
	begun := old.begin("1")
	b := rides()
	b.MaxSize = 2
	fresh := newRider(t, p, b) // what lies ahead is too large for it
	tr := fresh.begin("5")
	p.Retire(old.slots)
	fs = append(fs, startAll(t, p, "6", "7")...)
	fresh.arrive(tr)
	for _, names := range [][]string{{"2", "3"}, {"4", "6"}, {"7"}} {
		fresh.arrive(fresh.begin(names...))
	}
	old.arrive(begun)
	succeeded(fs...)
	fresh.clean()
}

func TestPlacesOfABatchedModel(t *testing.T) {
	p := NewPool(Options{Queue: 2})
	r := newRider(t, p, rides())
	fs := startAll(t, p, "1", "2", "3", "4", "5", "6", "7", "8")
	if l := p.Load(); l != (Load{Slots: 1, Places: 6, InFlight: 8, Queued: 4}) {
		t.Errorf("the load is %+v", l)
	}
	if err, ok := p.Admit().(*predict.QueueFullError); !ok {
		t.Errorf("a full pool says %v", err)
	}
	tr := r.begin("1")
	for i, want := range []int{0, 1, 2, 3, 4, 5, 6, 7} {
		if i < 4 && i > 0 {
			want = 1 + i - 1
		}
		if got := p.Place(fs[i].Call); got != want {
			t.Errorf("%s has place %d, want %d", fs[i].Name, got, want)
		}
	}
	for len(fs) > 0 {
		r.arrive(tr)
		succeeded(fs[:len(tr.items)]...)
		if fs = fs[len(tr.items):]; len(fs) > 0 {
			tr = r.gather()
			if !r.line.claim(tr.id) {
				t.Fatal("it was taken back")
			}
		}
	}
	r.clean()
}

// A hold of the policy ends by the clock.
func TestAHoldEnds(t *testing.T) {
	await.NoLeak(t)
	held := make(chan time.Duration, 1)
	p := NewPool(Options{OnBatch: func(_ int, d time.Duration) { held <- d }})
	p.origin = time.Now().Add(-time.Hour)
	b := rides()
	b.MaxWait = batch.AtMost(2 * time.Second)
	r := newRider(t, p, b)
	locked(p, func() bool { // the line has learned that company comes soon and is worth a wait
		for i := range 20 {
			it, at := &batch.Item[*Call]{}, time.Duration(i)*200*time.Millisecond
			p.line.Add(it, at)
			p.line.Take(at, 1, 1, nil)
			if p.line.Remove(it); p.line.Len() > 0 {
				t.Error("something is left in the line")
			}
			p.line.Ended(at+time.Millisecond, 1, 10*time.Second)
		}
		return true
	})
	f := start(t, p, "a")
	lies(t, r, 0, 1)
	r.arrive(r.begin("a"))
	f.succeeded()
	if d := <-held; d <= 0 {
		t.Errorf("it was held back for %s", d)
	}
	r.clean()
}
