package slot

import (
	"errors"
	"testing"
	"time"

	"pinion/ipc"
	"pinion/tests/await"
)

func TestCancelInARunningRide(t *testing.T) {
	p := NewPool(Options{Queue: 9})
	r := newRider(t, p, rides())
	fs := r.bunch("1", "2", "3")
	tr := r.begin("1", "2", "3")
	parked(t, fs...)
	for i := range 2 { // at once, the leader too
		p.Cancel(fs[i].Call)
		fs[i].failed(ErrCanceled)
		r.dropped(tr.items[i])
	}
	if n := r.interrupts.Load(); n != 0 {
		t.Errorf("the worker was interrupted %d times, and somebody still waits", n)
	}
	r.over(tr)
	r.answer(ipc.KindCanceled, tr.items[0])
	r.answer(ipc.KindSucceeded, tr.items[1]) // the word came too late
	r.answer(ipc.KindSucceeded, tr.items[2])
	succeeded(fs[2])
	r.clean()
	if n := len(r.slots[0].riders); n != 0 {
		t.Errorf("%d answers are still expected", n)
	}
}

func TestCancelAfterTheFunctionHasEnded(t *testing.T) {
	p := NewPool(Options{Queue: 9})
	r := newRider(t, p, rides())
	f := start(t, p, "1")
	tr := r.begin("1")
	r.over(tr)
	await.Eventually(t, "the end is known", func() bool { return locked(p, func() bool { return len(r.slots[0].rides) == 0 }) })
	p.Cancel(f.Call)
	f.failed(ErrCanceled)
	r.dropped(tr.items[0])
	r.answer(ipc.KindSucceeded, tr.items[0])
	next := start(t, p, "2")
	r.arrive(r.begin("2"))
	next.succeeded()
	r.clean()
}

func TestCancelOfAllInterrupts(t *testing.T) {
	p := NewPool(Options{Queue: 9})
	r := newRider(t, p, rides())
	fs := r.bunch("1", "2")
	tr := r.begin("1", "2")
	p.Cancel(fs[0].Call)
	p.Cancel(fs[1].Call)
	fs[0].failed(ErrCanceled)
	if r.interrupts.Load() == 0 || !r.line.canceled(tr.id) {
		t.Errorf("%d interrupts; the cancel word does not name the batch %#x", r.interrupts.Load(), tr.id)
	}
	r.dropped(tr.items[0])
	before := locked(p, func() time.Duration { return p.line.Cost().Of(2) })
	r.overAfter(tr, time.Hour, 1, false)
	r.answer(ipc.KindCanceled, tr.items[0])
	r.answer(ipc.KindCanceled, tr.items[1])
	if res := fs[1].result(); res.Kind != ipc.KindCanceled || res.Err != nil {
		t.Errorf("kind %d, error %v", res.Kind, res.Err)
	}
	if after := locked(p, func() time.Duration { return p.line.Cost().Of(2) }); after != before {
		t.Errorf("an interrupted batch taught that two cost %s; it was %s", after, before)
	}
	r.clean()
	if k := r.kills(); len(k) != 0 {
		t.Errorf("killed: %q", k)
	}
}

func TestAStubbornRideIsKilled(t *testing.T) {
	p := NewPool(Options{CancelGrace: 5 * time.Millisecond})
	r := newRider(t, p, rides())
	f := start(t, p, "1")
	r.begin("1")
	p.Cancel(f.Call)
	await.Eventually(t, "the worker is killed", func() bool { return len(r.kills()) > 0 })
	if had := r.bury("killed"); had != 1 {
		t.Errorf("it had %d", had)
	}
	f.failed(ErrCanceled)
	empty(t, p)
}

func TestARideRunsForTooLong(t *testing.T) {
	p := NewPool(Options{Queue: 9, PredictTimeout: 20 * time.Millisecond})
	r := newRider(t, p, rides())
	fs := r.bunch("1", "2")
	tr := r.begin("1", "2")
	await.Eventually(t, "it is cancelled", func() bool { return r.line.canceled(tr.id) })
	r.over(tr)
	for _, it := range tr.items {
		r.answer(ipc.KindCanceled, it)
	}
	for _, f := range fs {
		var late *TimeoutError
		if res := f.result(); !errors.As(res.Err, &late) || res.Kind != 0 {
			t.Errorf("%s: kind %d, error %v", f.Name, res.Kind, res.Err)
		}
	}
	r.clean()
}

// Whom the dead worker had runs once more, alone; whom that kills fails with the cause.
func TestDeathOfARide(t *testing.T) {
	await.NoLeak(t)
	p := NewPool(Options{Queue: 9})
	r := newRider(t, p, rides())
	fs := r.bunch("1", "2", "3", "4", "5", "6", "7")
	r.begin("1", "2", "3")
	r.gather() // and the others are not begun
	parked(t, fs...)
	r.write("dying words")
	if had := r.bury("died"); had != 3 {
		t.Errorf("it had %d", had)
	}
	r = newRider(t, p, rides())
	r.arrive(r.begin("1"))
	r.begin("2")
	if had := r.bury("died again"); had != 1 {
		t.Errorf("it had %d", had)
	}
	r = newRider(t, p, rides())
	r.arrive(r.begin("3"))
	r.arrive(r.begin("4", "5", "6"))
	r.arrive(r.begin("7"))
	fs[1].lostWith("died again")
	succeeded(fs[0], fs[2], fs[3], fs[4], fs[5], fs[6])
	r.clean()
}

func TestDeathOfARideWithoutIsolation(t *testing.T) {
	b := rides()
	b.Isolate = false
	p := NewPool(Options{Queue: 9})
	r := newRider(t, p, b)
	fs := r.bunch("1", "2", "3", "4")
	r.begin("1", "2", "3")
	p.Cancel(fs[0].Call)
	r.write("dying words")
	if had := r.bury("died"); had != 2 {
		t.Errorf("it had %d", had)
	}
	fs[0].failed(ErrCanceled)
	fs[1].lostWith("died")
	fs[2].lostWith("died")
	if string(fs[1].Result.Logs) != "dying words" {
		t.Errorf("its log is %q", fs[1].Result.Logs)
	}
	r = newRider(t, p, b)
	r.arrive(r.begin("4"))
	fs[3].succeeded()
	r.clean()
}

// A lone one is what killed its worker.
func TestDeathOfALoneRide(t *testing.T) {
	p := NewPool(Options{})
	r := newRider(t, p, rides())
	f := start(t, p, "1")
	r.begin("1")
	r.bury("died")
	f.lostWith("died")
	empty(t, p)
}

// While the server drains nobody gets a second turn, and hears the cause.
func TestDeathOfARideWhileThePoolIsStopped(t *testing.T) {
	p := NewPool(Options{Queue: 9})
	r := newRider(t, p, rides())
	fs := r.bunch("1", "2")
	r.begin("1", "2")
	p.Refuse(errors.New("the server is shutting down"))
	r.bury("died")
	fs[0].lostWith("died")
	fs[1].lostWith("died")
	empty(t, p)
}

// Some answers came, the others run again.
func TestDeathBetweenTheEndAndTheAnswers(t *testing.T) {
	p := NewPool(Options{Queue: 9})
	r := newRider(t, p, rides())
	fs := r.bunch("1", "2", "3")
	tr := r.begin("1", "2", "3")
	r.over(tr)
	r.answer(ipc.KindSucceeded, tr.items[1])
	if had := r.bury("died"); had != 2 {
		t.Errorf("it had %d", had)
	}
	fs[1].succeeded()
	r = newRider(t, p, rides())
	r.arrive(r.begin("1"))
	r.arrive(r.begin("3"))
	succeeded(fs...)
	r.clean()
}

func TestAnswersOfBatchesThatCannotBe(t *testing.T) {
	for name, send := range map[string]func(*rider, trip){
		"before the end":     func(r *rider, tr trip) { r.answer(ipc.KindSucceeded, tr.items[0]) },
		"twice":              func(r *rider, tr trip) { r.arrive(tr); r.held[tr.items[0].id] = tr.items[0]; r.answer(17, tr.items[0]) },
		"the end twice":      func(r *rider, tr trip) { r.over(tr); r.over(tr) },
		"the end of another": func(r *rider, tr trip) { r.over(trip{id: tr.id + 64}) },
		"prepared":           func(r *rider, tr trip) { r.prepared(tr.items[0]) },
		"rubbish":            func(r *rider, tr trip) { _ = r.line.send(ipc.KindBatchDone, tr.id, 0, []byte(`{"runs":`)) },
	} {
		t.Run(name, func(t *testing.T) {
			p := NewPool(Options{Queue: 9})
			r := newRider(t, p, rides())
			start(t, p, "0")
			tr := r.begin("0")
			rest := startAll(t, p, "1")
			parked(t, rest...)
			send(r, tr)
			if name == "twice" {
				r.begin("1")
			}
			await.Eventually(t, "the worker is killed", func() bool { return len(r.kills()) > 0 })
			r.bury("killed")
			if name != "twice" {
				r = newRider(t, p, rides())
				r.arrive(r.begin("1"))
			}
			rest[0].result()
			empty(t, p)
		})
	}
}

// What a call needs stays until the model cannot have it any more: the others, with whom it ran, still run.
func TestGoneIsCalledWhenTheWorkerHasDoneWithIt(t *testing.T) {
	p := NewPool(Options{Queue: 9})
	r := newRider(t, p, rides())
	gone := make(map[string]int) // with the pool's lock
	count := func(name string) int {
		n := 0
		locked(p, func() bool { n = gone[name]; return true })
		return n
	}
	begin := func(name string) *flight {
		return startWith(t, p, name, func(c *Call) { c.Gone = func() { gone[name]++ } })
	}
	zero := begin("0")
	tr := r.begin("0")
	fs := []*flight{begin("1"), begin("2"), begin("3")}
	parked(t, fs...)
	p.Cancel(fs[2].Call)
	fs[2].failed(ErrCanceled)
	if n := count("3"); n != 1 {
		t.Errorf("3, which nobody has, is gone %d times", n)
	}
	r.arrive(tr)
	zero.succeeded()
	r.revoked("1", "2", "3")
	tr = r.begin("1", "2")
	p.Cancel(fs[0].Call)
	fs[0].failed(ErrCanceled)
	r.dropped(tr.items[0])
	if n := count("1"); n != 0 {
		t.Errorf("1, which still rides, is gone %d times", n)
	}
	r.over(tr)
	r.answer(ipc.KindCanceled, tr.items[0])
	r.answer(ipc.KindSucceeded, tr.items[1])
	fs[1].succeeded()
	await.Eventually(t, "1 is gone", func() bool { return count("1") == 1 })
	last := []*flight{begin("4"), begin("5")}
	r.begin("4")
	r.bury("died")
	last[0].lostWith("died")
	await.Eventually(t, "4 is gone with its worker", func() bool { return count("4") == 1 })
	r = newRider(t, p, rides())
	r.arrive(r.begin("5"))
	last[1].succeeded()
	for _, name := range []string{"0", "2", "5"} {
		await.Eventually(t, name+" is gone", func() bool { return count(name) == 1 })
	}
	r.clean()
}
