package slot

import (
	"fmt"
	"testing"
	"time"

	"pinion/ipc"
	"pinion/runtime/predict"
	"pinion/tests/await"
)

// preparing are rides of two, of a model that prepares each item first.
func preparing() *Batch {
	b := rides()
	b.MaxSize, b.Prepare = 2, true
	return b
}

func TestPreparedItemsRide(t *testing.T) {
	await.NoLeak(t)
	p := NewPool(Options{Queue: 9})
	r := newRider(t, p, preparing())
	fs := startAll(t, p, "1", "2", "3", "4", "5", "6")
	parked(t, fs...)
	one, two, three, four := r.hold("1"), r.hold("2"), r.hold("3"), r.hold("4") // two rides full, and no more
	lies(t, r, 0, 2)
	r.prepared(two)
	tr := r.begin("2")
	r.prepared(four, one, three, three) // the order of the batch is that in which they were ready
	for _, f := range fs[:4] {
		await.Eventually(t, f.Name+" is ready", func() bool { return locked(p, func() bool { return f.ready }) })
	}
	lies(t, r, 1, 2)
	r.arrive(tr)
	fs[1].succeeded()
	next := r.begin("4", "1")
	r.prepared(r.hold("5"))
	await.Eventually(t, "5 is ready", func() bool { return locked(p, func() bool { return fs[4].ready }) })
	r.arrive(next)
	next = r.begin("3", "5")
	r.prepared(r.hold("6"))
	r.arrive(next)
	r.arrive(r.begin("6"))
	succeeded(fs...)
	r.clean()
	if n := len(r.slots[0].riders); n != 0 {
		t.Errorf("%d answers are still expected", n)
	}
}

// What fails in its preparation makes room for another.
func TestFailedInItsPreparation(t *testing.T) {
	p := NewPool(Options{Queue: 9})
	r := newRider(t, p, preparing())
	fs := startAll(t, p, "1", "2", "3", "4", "5")
	one := r.hold("1")
	rest := []request{r.hold("2"), r.hold("3"), r.hold("4")}
	r.answer(ipc.KindFailed, one)
	if res := fs[0].result(); res.Kind != ipc.KindFailed || res.Elapsed != time.Millisecond {
		t.Errorf("kind %d, error %v, %s", res.Kind, res.Err, res.Elapsed)
	}
	rest = append(rest, r.hold("5"))
	r.prepared(rest[0])
	tr := r.begin("2")
	r.prepared(rest[1:]...)
	r.arrive(tr)
	r.arrive(r.begin("3", "4"))
	r.arrive(r.begin("5"))
	succeeded(fs[1:]...)
	r.clean()
}

func TestCancelWhileItIsPrepared(t *testing.T) {
	p := NewPool(Options{Queue: 9})
	r := newRider(t, p, preparing())
	fs := startAll(t, p, "1", "2", "3", "4", "5")
	parked(t, fs...)
	var items []request
	for _, name := range []string{"1", "2", "3", "4"} {
		items = append(items, r.hold(name))
	}
	r.prepared(items[0])
	tr := r.begin("1")
	r.prepared(items[2])
	await.Eventually(t, "3 is ready", func() bool { return locked(p, func() bool { return fs[2].ready }) })
	for _, i := range []int{1, 2} { // one in its preparation, one that waits for its ride
		p.Cancel(fs[i].Call)
		fs[i].failed(ErrCanceled)
	}
	r.dropped(items[1])
	five := r.hold("5")
	r.dropped(items[2])
	r.prepared(items[1]) // it did not hear of it in time, and hears it again
	r.dropped(items[1])
	r.answer(ipc.KindCanceled, items[1])
	r.answer(ipc.KindCanceled, items[2])
	r.prepared(five, items[3])
	await.Eventually(t, "4 is ready", func() bool { return locked(p, func() bool { return fs[3].ready }) })
	r.arrive(tr)
	r.arrive(r.begin("5", "4"))
	succeeded(fs[0], fs[3], fs[4])
	r.clean()
}

func TestDeadlineWhileItIsPrepared(t *testing.T) {
	p := NewPool(Options{Queue: 9})
	r := newRider(t, p, preparing())
	f := startWith(t, p, "1", func(c *Call) { c.Deadline = time.Now().Add(10 * time.Millisecond) })
	one := r.hold("1")
	f.failed(predict.ErrQueueTimeout)
	r.dropped(one)
	r.answer(ipc.KindCanceled, one)
	next := start(t, p, "2")
	two := r.hold("2")
	r.prepared(two)
	r.arrive(r.begin("2"))
	next.succeeded()
	r.clean()
}

// What a dead worker had prepared is prepared again by the next; each item has that one to itself.
func TestDeathWhileItIsPrepared(t *testing.T) {
	await.NoLeak(t)
	p := NewPool(Options{Queue: 9})
	r := newRider(t, p, preparing())
	fs := startAll(t, p, "1", "2", "3", "4", "5")
	parked(t, fs...)
	first, second := r.hold("1"), r.hold("2")
	r.prepared(first)
	r.hold("3")
	r.hold("4")
	r.begin("1")
	r.prepared(second)
	await.Eventually(t, "2 is ready", func() bool { return locked(p, func() bool { return fs[1].ready }) })
	if had := r.bury("died"); had != 1 {
		t.Errorf("it had %d", had)
	}
	fs[0].lostWith("died")
	r = newRider(t, p, preparing())
	for _, name := range []string{"2", "3", "4", "5"} {
		one := r.hold(name)
		lies(t, r, 0, int('5'-name[0]))
		r.prepared(one)
		r.arrive(r.begin(name))
	}
	succeeded(fs[1:]...)
	r.clean()
}

// The one whose preparation ends its worker does so once with others, and once alone.
func TestAPreparationThatEndsItsWorker(t *testing.T) {
	await.NoLeak(t)
	p := NewPool(Options{Queue: 9})
	r := newRider(t, p, preparing())
	fs := startAll(t, p, "1", "2", "3")
	parked(t, fs...)
	r.hold("1")
	r.hold("2")
	r.hold("3")
	if had := r.bury("died"); had != 0 {
		t.Errorf("it had %d", had)
	}
	r = newRider(t, p, preparing())
	r.hold("1")
	lies(t, r, 0, 2)
	if had := r.bury("died again"); had != 1 {
		t.Errorf("it had %d", had)
	}
	fs[0].lostWith("died again")
	r = newRider(t, p, preparing())
	for _, name := range []string{"2", "3"} {
		r.prepared(r.hold(name))
		r.arrive(r.begin(name))
	}
	succeeded(fs[1:]...)
	r.clean()
}

// A worker that leaves finishes what it holds, and gets nothing more.
func TestALeavingWorkerFinishesWhatItHolds(t *testing.T) {
	p := NewPool(Options{Queue: 9})
	r := newRider(t, p, preparing())
	fs := startAll(t, p, "1", "2", "3", "4")
	late := startWith(t, p, "5", func(c *Call) { c.Deadline = time.Now().Add(time.Hour) })
	var items []request
	for i := range 4 {
		items = append(items, r.hold(fmt.Sprint(i+1)))
	}
	r.prepared(items[0])
	tr := r.begin("1")
	gone := p.Retire(r.slots)
	r.prepared(items[1:]...)
	await.Eventually(t, "4 is ready", func() bool { return locked(p, func() bool { return fs[3].ready }) })
	r.arrive(tr)
	r.arrive(r.begin("2", "3"))
	r.arrive(r.begin("4"))
	<-gone
	succeeded(fs...)
	if n := p.Load(); n.InFlight != 1 || n.Queued != 1 || n.Slots != 0 {
		t.Errorf("the load is %+v", n)
	}
	fresh := newRider(t, p, preparing())
	fresh.prepared(fresh.hold("5"))
	fresh.arrive(fresh.begin("5"))
	late.succeeded()
	fresh.clean()
}

// The last that a leaving worker holds is late: it can go.
func TestTheLastOfALeavingWorkerIsLate(t *testing.T) {
	p := NewPool(Options{Queue: 9})
	r, other := newRider(t, p, preparing()), newRider(t, p, preparing())
	var fs []*flight
	for _, name := range []string{"1", "2"} {
		fs = append(fs, startWith(t, p, name, func(c *Call) { c.Deadline = time.Now().Add(30 * time.Millisecond) }))
	}
	gone := p.Retire(r.slots)
	fs[0].failed(predict.ErrQueueTimeout)
	fs[1].failed(predict.ErrQueueTimeout)
	<-gone
	other.dropped(other.hold("2"))
	f := start(t, p, "3")
	other.prepared(other.hold("3"))
	other.arrive(other.begin("3"))
	f.succeeded()
	empty(t, p)
}

// A worker whose GPU is lost is not asked to run what it has prepared.
func TestALostWorkerGivesBackWhatItPrepared(t *testing.T) {
	p := NewPool(Options{Queue: 9})
	w := prepareWorker(t, p, 1)
	lost := 0
	w.alarms = Alarms{Fatal: func([]byte) bool { return true }, Lost: func([]byte) { lost++ }}
	w.batch = preparing()
	w.attach()
	r := newRiderOf(w)
	fs := startAll(t, p, "1", "2", "3")
	parked(t, fs...)
	items := []request{r.hold("1"), r.hold("2"), r.hold("3")}
	r.prepared(items[0])
	tr := r.begin("1")
	r.prepared(items[1])
	await.Eventually(t, "2 is ready", func() bool { return locked(p, func() bool { return fs[1].ready }) })
	r.over(tr)
	r.answer(ipc.KindFailed, tr.items[0])
	fs[0].result()
	fresh := newRider(t, p, preparing())
	if lost != 1 {
		t.Errorf("%d times it was said that the worker is lost", lost)
	}
	again := []request{fresh.hold("2"), fresh.hold("3")}
	fresh.prepared(again[0])
	tr = fresh.begin("2")
	fresh.prepared(again[1])
	fresh.arrive(tr)
	fresh.arrive(fresh.begin("3"))
	succeeded(fs[1:]...)
	fresh.clean()
}
