package slot

import (
	"strings"
	"testing"
	"time"

	"pinion/ipc"
	"pinion/tests/assert"
)

func TestCancel_BeforeSubmit(t *testing.T) {
	p := testPool(t, Options{})
	newWorker(t, p, 1)
	f := newTestCall(t, p, "a")
	p.Cancel(f.Call)
	p.Cancel(f.Call) // again does nothing
	p.Submit(f.Call)
	f.wait()
	f.failed(ErrCanceled)
	empty(t, p)
}

func TestCancel_InQueue(t *testing.T) {
	p, l := poolWithSlot(t, Options{Queue: 10})
	flights := startAll(t, p, "running", "window", "first", "second", "third")
	parked(t, flights...)
	p.Cancel(flights[3].Call)
	flights[3].failed(ErrCanceled)
	for _, i := range []int{0, 1, 2, 4} {
		flights[i].serveOne(l)
	}
	empty(t, p)
}

// TestCancel_InWindow: the worker has the request and has not begun it. It never will, and another call gets the
// room.
func TestCancel_InWindow(t *testing.T) {
	p, w := poolWithWorker(t, Options{Queue: 10}, 1)
	l := w.ends[0]
	running, window, waits := start(t, p, "running"), start(t, p, "window"), start(t, p, "waits")
	begun := l.begin()
	p.Cancel(window.Call)
	window.failed(ErrCanceled)
	assert.Equal(t, "queued", p.Load().Queued, 0)
	if r := l.expect(); !isFor(r, "window") || l.claim(r.id) {
		t.Errorf(`%s could be claimed, want isFor(r, "window") true and l.claim(r.id) false`, r.body)
	}
	l.succeed(begun)
	running.succeeded()
	waits.serveOne(l)
	assert.Equal(t, "signals for what it had not begun", w.interrupts.Load(), 0)
	empty(t, p)
}

// TestCancel_MakesRoomForWaiting: a slot whose call was canceled takes another slot's waiting call.
func TestCancel_MakesRoomForWaiting(t *testing.T) {
	p, w := poolWithWorker(t, Options{Queue: 10}, 2)
	flights := startAll(t, p, "a", "b", "c", "d")
	parked(t, flights...)
	on := func(s *Slot) (of []*testCall) {
		for _, f := range flights {
			if locked(p, func() bool { return f.slot == s }) {
				of = append(of, f)
			}
		}
		return of
	}
	busy := w.ends[0].begin()
	for _, f := range on(w.slots[1]) { // nothing of it has begun
		p.Cancel(f.Call)
		f.failed(ErrCanceled)
	}
	moved := w.ends[1].begin()
	w.ends[1].succeed(moved)
	w.ends[0].succeed(busy)
	for _, f := range flights {
		if f.result().Err == nil {
			f.succeeded()
		}
	}
	empty(t, p)
}

func TestCancel_OfRunningCall(t *testing.T) {
	for name, c := range map[string]struct {
		kind ipc.Kind
		body string
	}{
		"it obeys":          {ipc.KindCanceled, `{"metrics":{"predict_time":1}}`},
		"it was done first": {ipc.KindSucceeded, string(body("running"))},
		"it fails at it":    {ipc.KindFailed, `{"metrics":{},"error":"RuntimeError"}`},
	} {
		t.Run(name, func(t *testing.T) {
			p, w := poolWithWorker(t, Options{CancelGrace: time.Hour}, 1)
			l := w.ends[0]
			f := start(t, p, "running")
			r := l.begin()
			p.Cancel(f.Call)
			assert.True(t, l.canceled(r.id) && w.interrupts.Load() != 0,
				"the cancel word names it: %v; signals: %d, want true and not 0", l.canceled(r.id), w.interrupts.Load())
			l.answer(c.kind, r.id, time.Second, c.body)
			if got := f.result(); got.Err != nil || got.Kind != c.kind || !got.Canceled || string(got.Body) != c.body ||
				got.Elapsed != time.Second {
				t.Errorf("got %+v, want Kind %v, Canceled true, Body %q and Elapsed %v", got, c.kind, c.body, time.Second)
			}
			p.Cancel(f.Call) // it has ended: this does nothing
			empty(t, p)
			assert.Equal(t, "kills of the worker", len(w.kills()), 0)
			// The word still names an id that is over: the next call has another.
			next := start(t, p, "next")
			r = l.begin()
			assert.False(t, l.canceled(r.id), "the next call is canceled too")
			l.succeed(r)
			next.succeeded()
		})
	}
}

// TestCancel_IsRepeated: the model may miss a signal.
func TestCancel_IsRepeated(t *testing.T) {
	p, w := poolWithWorker(t, Options{CancelGrace: time.Hour}, 1)
	l := w.ends[0]
	f := start(t, p, "running")
	r := l.begin()
	p.Cancel(f.Call)
	assert.Eventually(t, "it is signalled again", func() bool { return w.interrupts.Load() >= 3 })
	l.answer(ipc.KindCanceled, r.id, time.Second, `{"metrics":{}}`)
	assert.Equal(t, "the kind", f.result().Kind, ipc.KindCanceled)
	empty(t, p)
}

// TestCancel_Timeout: after the grace the worker is killed. The call is canceled all the same, and its neighbour in
// another slot fails.
func TestCancel_Timeout(t *testing.T) {
	p, w := poolWithWorker(t, Options{CancelGrace: time.Millisecond, Queue: 10}, 2)
	a, b := start(t, p, "a"), start(t, p, "b")
	ignoring, neighbour := a, b
	l, other := w.ends[0], w.ends[1]
	if r := l.begin(); !isFor(r, "a") {
		ignoring, neighbour = b, a
	}
	other.begin()
	w.write("the last words\n")
	p.Cancel(ignoring.Call)
	assert.Eventually(t, "it is killed", func() bool { return len(w.kills()) > 0 })
	if k := w.kills(); !strings.Contains(k[0], "did not end within 1ms") {
		t.Errorf(`killed because: %q, want it to contain "did not end within 1ms"`, k)
	}
	waits := start(t, p, "waits") // in the window of one that dies
	assert.Equal(t, "calls of the model", w.terminate("it was killed"), 2)
	ignoring.failed(ErrCanceled)
	if r := ignoring.result(); string(r.Logs) != "the last words\n" || r.Elapsed <= 0 {
		t.Errorf("logs %q, %s, want Logs %q and Elapsed more than 0", r.Logs, r.Elapsed, "the last words\n")
	}
	neighbour.failed(ErrWorkerExit)
	assert.Equal(t, "the cause", neighbour.result().Err.Error(), "it was killed")
	waits.serveOne(newWorker(t, p, 1).ends[0])
	empty(t, p)
}

// TestCancel_BeforeDetach: between the end of a channel and Detach.
func TestCancel_BeforeDetach(t *testing.T) {
	p, w := poolWithWorker(t, Options{Queue: 10}, 1)
	running, window := start(t, p, "running"), start(t, p, "window")
	w.ends[0].begin()
	w.write("from running\n")
	w.die()
	assert.Eventually(t, "the end is seen", func() bool { return w.closings.Load() > 0 })
	p.Cancel(running.Call)
	p.Cancel(window.Call)
	assert.Equal(t, "in flight", p.Load().InFlight, 2)
	assert.Equal(t, "calls of the model", w.terminate("died"), 1)
	running.failed(ErrCanceled)
	window.failed(ErrCanceled)
	assert.Equal(t, "the logs of the running one", string(running.result().Logs), "from running\n")
	if r := window.result(); len(r.Logs) != 0 || r.Elapsed != 0 {
		t.Errorf("one that never ran has the logs %q and took %s, want len(Logs) empty and Elapsed 0", r.Logs, r.Elapsed)
	}
	empty(t, p)
}
