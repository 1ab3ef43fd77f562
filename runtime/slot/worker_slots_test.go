package slot

import (
	"bytes"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"pinion/ipc"
	"pinion/tests/assert"
)

// isClosed reports whether a channel was closed.
func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// TestWorkerSlots_Retire: a worker finishes what it has begun; the rest goes to the other worker in its order.
func TestWorkerSlots_Retire(t *testing.T) {
	p := testPool(t, Options{Queue: 20})
	old := newWorker(t, p, 1)
	setWindow(p, old.slots[0], 8)
	flights := startNumbered(t, p, 7) // all in the socket
	parked(t, flights[1:]...)
	begun := old.ends[0].begin()
	fresh := newWorker(t, p, 1)
	empty0 := p.Retire(old.slots)
	assert.TrueNow(t, !isClosed(empty0), "it is said to have nothing to do")
	for _, f := range flights[1:] {
		f.serveOne(fresh.ends[0])
	}
	// a slot for what still runs, or other calls would be refused
	got := p.Load()
	assert.True(t, got.Slots == 2 && got.InFlight == 1, "the load is %+v, want Slots 2 and InFlight 1", got)
	old.ends[0].succeed(begun)
	flights[0].succeeded()
	assert.Eventually(t, "nothing is outstanding", func() bool { return isClosed(empty0) })
	assert.Equal(t, "slots", p.Load().Slots, 1)
	assert.Equal(t, "calls", old.terminate("it has left"), 0)
	start(t, p, "again").serveOne(fresh.ends[0])
	empty(t, p)
}

// TestWorkerSlots_RetireIdleOrDeadWorker: the channel is closed at once, every time.
func TestWorkerSlots_RetireIdleOrDeadWorker(t *testing.T) {
	p := testPool(t, Options{})
	idle, dead := newWorker(t, p, 3), newWorker(t, p, 2)
	dead.terminate("it died")
	for _, slots := range [][]*Slot{idle.slots, idle.slots, dead.slots, nil} {
		assert.True(t, isClosed(p.Retire(slots)),
			"it is said to have something to do")
	}
	assert.Equal(t, "slots", p.Load().Slots, 0)
}

// TestWorkerSlots_RetireAndExit: the worker dies while it finishes its calls.
func TestWorkerSlots_RetireAndExit(t *testing.T) {
	p, w := poolWithWorker(t, Options{Queue: 4}, 1)
	running, waits := start(t, p, "running"), start(t, p, "waits")
	parked(t, waits)
	w.ends[0].begin()
	left := p.Retire(w.slots)
	assert.Equal(t, "calls of the model", w.terminate("worker killed by SIGSEGV"), 1)
	running.failed(ErrWorkerExit)
	assert.True(t, isClosed(left), "it is said to have something to do")
	waits.serveOne(newWorker(t, p, 1).ends[0])
	empty(t, p)
}

// TestWorkerSlots_RetireUnderLoad: workers are replaced, and no call fails.
func TestWorkerSlots_RetireUnderLoad(t *testing.T) {
	p, w := poolWithWorker(t, Options{Queue: 64}, 2)
	served := w.serve(echo)
	var stop atomic.Bool
	var calls atomic.Int64
	done := make(chan struct{})
	const clients = 16
	for i := range clients {
		go func() {
			defer func() { done <- struct{}{} }()
			for n := 0; !stop.Load(); n++ {
				f := start(t, p, fmt.Sprintf("%d-%d", i, n))
				f.succeeded()
				calls.Add(1)
			}
		}()
	}
	for range 20 {
		began := calls.Load()
		assert.Eventually(t, "calls are answered", func() bool { return calls.Load() > began+50 })
		next := newWorker(t, p, 2)
		nextServed := next.serve(echo)
		left := p.Retire(w.slots)
		assert.Eventually(t, "it has nothing to do", func() bool { return isClosed(left) })
		w.disconnect(served)
		assert.Equal(t, "calls", w.terminate("it has left"), 0)
		w, served = next, nextServed
	}
	stop.Store(true)
	for range clients {
		<-done
	}
	w.disconnect(served)
	empty(t, p)
}

// TestWorkerSlots_Hooks: the answers are counted, and one that shows that its worker is unusable retires it.
func TestWorkerSlots_Hooks(t *testing.T) {
	p := testPool(t, Options{Queue: 4})
	w := prepareWorker(t, p, 1)
	var reached atomic.Int64
	unusable := make(chan string, 1)
	w.hooks = Hooks{
		MaxRequests: 2, MaxRequestsReached: func() { reached.Add(1) },
		IsFatal:     func(body []byte) bool { return bytes.Contains(body, []byte("lost")) },
		FatalAnswer: func(body []byte) { unusable <- string(body) },
	}
	w.attach()
	l := w.ends[0]
	for i := range 3 {
		f := start(t, p, fmt.Sprint(i))
		l.answer(ipc.KindFailed, l.begin().id, time.Millisecond, "an ordinary failure")
		f.result()
		if want := int64(min(1, i)); reached.Load() != want { // with the second, and once
			t.Errorf("after %d answers the hook was called %d times, want %d", i+1, reached.Load(), want)
		}
	}
	first, second := start(t, p, "first"), start(t, p, "second")
	parked(t, second)
	l.answer(ipc.KindFailed, l.begin().id, time.Millisecond, "the context is lost")
	r := first.result()
	assert.True(t, string(r.Body) == "the context is lost" && r.Err == nil, `got %+v, want "the context is lost"`, r)
	assert.Equal(t, "the hook", <-unusable, "the context is lost")
	if r := l.expect(); l.claim(r.id) {
		t.Error("the unusable worker could begin another call")
	}
	second.serveOne(newWorker(t, p, 1).ends[0])
	v := p.WorkerLoad(w.slots)
	assert.True(t, v.Answered == 4 && v.Busy == 0 && v.Since.IsZero(), "its vitals are %+v, want Answered 4, Busy 0 and Since zero", v)
	empty(t, p)
}

func TestWorkerSlots_WorkerLoad(t *testing.T) {
	p, w := poolWithWorker(t, Options{Queue: 4}, 2)
	before := time.Now()
	a, b := start(t, p, "a"), start(t, p, "b")
	v := p.WorkerLoad(w.slots)
	assert.True(t, v.Busy == 2 && v.Answered == 0 && !v.Since.Before(before) && !v.Since.After(time.Now()),
		"got %+v, want Busy 2, Answered 0, v.Since.Before(before) false and v.Since.After(time.Now()) false", v)
	for _, l := range w.ends {
		l.succeed(l.begin())
	}
	a.succeeded()
	b.succeeded()
	v = p.WorkerLoad(w.slots)
	assert.True(t, v.Busy == 0 && v.Answered == 2 && v.Since.IsZero(), "got %+v, want Busy 0, Answered 2 and Since zero", v)
	assert.Equal(t, "the load of no slots", p.WorkerLoad(nil), (WorkerLoad{}))
}

// TestWorkerSlots_LeastLoadedWorker: the next call gets an idle slot of the worker with the fewest calls.
func TestWorkerSlots_LeastLoadedWorker(t *testing.T) {
	p := testPool(t, Options{})
	workers := []*fakeWorker{newWorker(t, p, 3), newWorker(t, p, 3), newWorker(t, p, 3)}
	var flights []*testCall
	for i := range 9 {
		flights = append(flights, start(t, p, fmt.Sprint(i)))
		var busy []int
		for _, w := range workers {
			busy = append(busy, p.WorkerLoad(w.slots).Busy)
		}
		if least, most := min(busy[0], busy[1], busy[2]), max(busy[0], busy[1], busy[2]); most-least > 1 {
			t.Errorf("after %d calls the workers have %v: got %d, want at most 1", i+1, busy, most-least)
		}
	}
	for _, w := range workers {
		for _, l := range w.ends {
			l.succeed(l.begin())
		}
	}
	succeeded(flights...)
	empty(t, p)
}
