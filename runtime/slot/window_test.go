package slot

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pinion/ipc"
	"pinion/tests/assert"
)

// TestWindow_FollowsModel: the window is what the worker can do while an answer travels.
func TestWindow_FollowsModel(t *testing.T) {
	for took, want := range map[time.Duration]int{
		0: maxWindow, time.Nanosecond: maxWindow, 6 * time.Microsecond: maxWindow, 10 * time.Microsecond: 20,
		50 * time.Microsecond: 4, 100 * time.Microsecond: minWindow, time.Second: minWindow, time.Hour: minWindow,
	} {
		w := window{size: minWindow}
		w.learn(took, 1)
		assert.Equal(t, fmt.Sprintf("%s a call: a window of", took), w.size, want)
		if w.learn(took, 2); took >= slowCall {
			want = 1
		}
		assert.Equal(t, fmt.Sprintf("%s a call of two slots: a window of", took), w.size, want)
	}
	w := window{size: minWindow}
	for range 100 {
		w.learn(time.Microsecond, 1)
	}
	assert.Equal(t, "fast for long", w.size, maxWindow)
	for n := 0; w.size > minWindow; n++ {
		w.learn(time.Second, 1)
		assert.TrueNow(t, n <= 2, "slow %d times, and the window is still %d, want at most 2", n, w.size)
	}
}

// TestWindow_SlowCallsWaitInQueue: a call that another slot could take does not wait behind a slow one, where those that
// arrive later overtake it.
func TestWindow_SlowCallsWaitInQueue(t *testing.T) {
	p, w := poolWithWorker(t, Options{Queue: 20}, 2)
	warm := startAll(t, p, "warm", "up")
	for _, l := range w.ends {
		r := l.begin()
		l.answer(ipc.KindSucceeded, r.id, time.Second, string(r.body))
	}
	succeeded(warm...)
	flights := startAll(t, p, "long", "1", "2", "3", "4")
	busy := locked(p, func() int { return slices.Index(w.slots, flights[0].slot) })
	long, other := w.ends[busy].begin(), w.ends[1-busy]
	for _, f := range flights[1:] {
		r := other.begin()
		assert.TrueNow(t, isFor(r, f.Name), "the free slot got %s, want %s", r.body, f.Name)
		other.answer(ipc.KindSucceeded, r.id, time.Second, string(r.body))
		f.succeeded()
	}
	w.ends[busy].succeed(long)
	succeeded(flights...)
	empty(t, p)
}

// TestWindow_IsFilled: the socket has as many requests as the window allows, and no more.
func TestWindow_IsFilled(t *testing.T) {
	p, w := poolWithWorker(t, Options{Queue: 100}, 1)
	l := w.ends[0]
	flights := startNumbered(t, p, 50)
	outstanding := func() int { return locked(p, func() int { return w.slots[0].outstanding }) }
	assert.Equal(t, "calls in the slot that has not learnt yet", outstanding(), minWindow)
	first := l.begin()
	l.answer(ipc.KindSucceeded, first.id, time.Microsecond, string(first.body))
	flights[0].succeeded()
	assert.Eventually(t, "the window is filled", func() bool { return outstanding() == maxWindow })
	assert.Equal(t, "calls in the queue", p.Load().Queued, 50-1-maxWindow)
	for _, f := range flights[1:] {
		f.serveOne(l)
	}
	empty(t, p)
}

// TestWindow_FirstComeFirstServed over the queue and the socket.
func TestWindow_FirstComeFirstServed(t *testing.T) {
	p, l := poolWithSlot(t, Options{Queue: 20})
	for _, f := range startNumbered(t, p, 12) {
		f.serveOne(l)
	}
}

// TestWindow_IdleSlotFirst: no call waits behind a busy slot while another is idle; of the idle slots the last used one
// is taken.
func TestWindow_IdleSlotFirst(t *testing.T) {
	p, w := poolWithWorker(t, Options{Queue: 20}, 3)
	used := func(f *testCall) int { return locked(p, func() int { return slices.Index(w.slots, f.slot) }) }
	a, b, c := start(t, p, "a"), start(t, p, "b"), start(t, p, "c")
	slots := []int{used(a), used(b), used(c)}
	if slices.Sort(slots); !slices.Equal(slots, []int{0, 1, 2}) {
		t.Fatalf("three calls got the slots %v, want [0 1 2]", slots)
	}
	warm := used(b)
	for _, l := range w.ends {
		if l.index != warm {
			l.succeed(l.begin())
		}
	}
	a.succeeded()
	c.succeeded()
	b.serveOne(w.ends[warm])
	for i := range 5 {
		f := start(t, p, fmt.Sprint("again", i))
		assert.Equal(t, "the slot that was taken, of which the last used is wanted", used(f), warm)
		f.serveOne(w.ends[warm])
	}
}

// TestWindow_IdleSlotSteals: calls that wait behind a long one go to the slot that is idle first.
func TestWindow_IdleSlotSteals(t *testing.T) {
	p, w := poolWithWorker(t, Options{Queue: 20}, 2)
	flights := startAll(t, p, "a", "b", "c", "d")
	slow, fast := w.ends[0], w.ends[1]
	running := slow.begin()
	for range 2 {
		fast.succeed(fast.begin())
	}
	stolen := fast.begin() // its own are done: this one waited behind running
	skipped := slow.expect()
	assert.True(t, string(skipped.body) == string(stolen.body) && !slow.claim(skipped.id),
		"the slow slot could still claim %s, want body %q and slow.claim(skipped.id) false", skipped.body, string(stolen.body))
	fast.succeed(stolen)
	slow.succeed(running)
	succeeded(flights...)
	empty(t, p)
}

// TestWindow_IdleSlotStealsFromAnySlot: the fullest slot may have begun all of its calls; then calls that wait
// elsewhere are stolen.
func TestWindow_IdleSlotStealsFromAnySlot(t *testing.T) {
	p, w := poolWithWorker(t, Options{Queue: 20}, 2)
	for _, s := range w.slots {
		setWindow(p, s, 8)
	}
	flights := startNumbered(t, p, 5) // three at one slot, two at the other
	full, other := w.ends[0], w.ends[1]
	if locked(p, func() bool { return w.slots[1].outstanding == 3 }) {
		full, other = other, full
	}
	var requests []request
	for range 3 {
		requests = append(requests, full.begin())
	}
	running := other.begin()
	third := newWorker(t, p, 1).ends[0] // idle from the start
	third.succeed(third.begin())
	for _, r := range requests {
		full.succeed(r)
	}
	other.succeed(running)
	succeeded(flights...)
	empty(t, p)
}

// TestWindow_HalfIsStolen: an idle slot takes half of what waits, so that it need not steal again at once.
func TestWindow_HalfIsStolen(t *testing.T) {
	p, w := poolWithWorker(t, Options{Queue: 20}, 1)
	setWindow(p, w.slots[0], 8)
	flights := startNumbered(t, p, 8)
	slow := w.ends[0]
	running := slow.begin()
	second := newWorker(t, p, 1)
	fast := second.ends[0]
	counts := locked(p, func() [2]int { return [2]int{w.slots[0].outstanding, second.slots[0].outstanding} })
	assert.Equal(t, "calls of the slots", counts, [2]int{4, 4})
	for _, f := range flights[1:] { // the oldest first
		f.serveOne(fast)
	}
	slow.succeed(running)
	succeeded(flights...)
	empty(t, p)
}

// inSocket returns how many bytes in a worker's socket are unread.
func inSocket(t *testing.T, l *slotEnd) int {
	t.Helper()
	return assert.Must(unix.IoctlGetInt(l.fd, unix.TIOCINQ))(t)
}

// fast returns a slot of a fast model, with n calls on their way and a leader.
func fast(t *testing.T, p *Pool, n int) (w *fakeWorker, flights []*testCall) {
	t.Helper()
	w = newWorker(t, p, 1)
	l := w.ends[0]
	first := start(t, p, "first")
	r := l.begin()
	l.answer(ipc.KindSucceeded, r.id, time.Microsecond, string(r.body))
	first.succeeded()
	flights = append(flights, startNumbered(t, p, n)...)
	parked(t, flights...)
	return w, flights
}

// TestWindow_DelayedRequests: a request to a busy worker waits for the next write, and is sent with it, for any reason
// of that write.
func TestWindow_DelayedRequests(t *testing.T) {
	for name, c := range map[string]struct {
		next func(t *testing.T, p *Pool, l *slotEnd, flights []*testCall)
	}{
		"an answer": {func(t *testing.T, p *Pool, l *slotEnd, flights []*testCall) { flights[0].serveOne(l) }},
		"a cancel": {func(t *testing.T, p *Pool, l *slotEnd, flights []*testCall) {
			p.Cancel(flights[0].Call)
			flights[0].failed(ErrCanceled)
		}},
		"its own cancel": {func(t *testing.T, p *Pool, l *slotEnd, flights []*testCall) {
			p.Cancel(flights[len(flights)-1].Call)
			flights[len(flights)-1].failed(ErrCanceled)
		}},
		"a timeout": {func(t *testing.T, p *Pool, l *slotEnd, flights []*testCall) {
			locked(p, func() bool { flights[0].deadline = time.Now(); return true })
			p.locked(p.expireLate)
		}},
		"a thief": {func(t *testing.T, p *Pool, l *slotEnd, flights []*testCall) {
			thief := newWorker(t, p, 1)
			served := thief.serve(echo)
			t.Cleanup(func() { thief.disconnect(served) })
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p := testPool(t, Options{Queue: 40})
			w, flights := fast(t, p, delayAbove)
			l, s := w.ends[0], w.slots[0]
			before := inSocket(t, l)
			delayed := start(t, p, "delayed")
			n := locked(p, func() int { return s.ch.unflushed })
			assert.TrueNow(t, n == 1 && inSocket(t, l) == before,
				"%d are delayed, and %d bytes more in the socket, want n 1 and inSocket %d", n, inSocket(t, l)-before, before)
			flights = append(flights, delayed)
			parked(t, delayed)
			c.next(t, p, l, flights)
			assert.Equal(t, "calls that are still delayed", locked(p, func() int { return s.ch.unflushed }), 0)
			served := w.serve(echo) // the delayed one was sent, or it never ends
			for _, f := range flights {
				if f.result().Err == nil {
					f.succeeded()
				}
			}
			empty(t, p)
			w.disconnect(served)
		})
	}
}

// TestWindow_NotDelayed: a request is written at once if no other call's answer is due.
func TestWindow_NotDelayed(t *testing.T) {
	p := NewPool(Options{Queue: 40})
	w, flights := fast(t, p, delayAbove-1)
	l := w.ends[0]
	before := inSocket(t, l)
	flights = append(flights, start(t, p, "next"))
	got := inSocket(t, l)
	assert.True(t, got != before, "the fourth was delayed: got %d, want anything but %d", got, before)
	parked(t, flights...)
	large := &testCall{
		NewCall("large", append(append([]byte(`"`), make([]byte, delaySize)...), '"'), nil), t,
		make(chan struct{}),
	}
	assert.NoError(t, p.Admit(nil))
	before = inSocket(t, l)
	p.Submit(large.Call)
	large.wait()
	got = inSocket(t, l)
	assert.True(t, got != before, "a large one was delayed: got %d, want anything but %d", got, before)
	for range flights {
		l.succeed(l.begin())
	}
	l.succeed(l.begin())
	large.result()
}

func TestWindow_CallTime(t *testing.T) {
	p, w := poolWithWorker(t, Options{}, 2)
	assert.Equal(t, "before the first call", p.MeanDuration(), 0)
	for range 2 { // a call at each slot
		calls := []*testCall{start(t, p, "a"), start(t, p, "b")}
		for i, l := range w.ends {
			r := l.begin()
			l.answer(ipc.KindSucceeded, r.id, time.Duration(i+1)*time.Millisecond, string(r.body))
		}
		succeeded(calls...)
	}
	assert.Equal(t, "a call of the slower slot", p.MeanDuration(), 2*time.Millisecond)
	empty(t, p)
}
