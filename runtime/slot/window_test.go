package slot

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pinion/ipc"
	"pinion/tests/await"
)

// TestWindowFollowsTheModel: a slot's socket holds what the worker can do while an answer travels.
func TestWindowFollowsTheModel(t *testing.T) {
	for took, want := range map[time.Duration]int{
		0: maxWindow, time.Nanosecond: maxWindow, 6 * time.Microsecond: maxWindow, 10 * time.Microsecond: 20,
		50 * time.Microsecond: 4, 100 * time.Microsecond: minWindow, time.Second: minWindow, time.Hour: minWindow,
	} {
		s := &Slot{window: minWindow}
		s.learn(took)
		if s.window != want {
			t.Errorf("%s a call: a window of %d, want %d", took, s.window, want)
		}
	}
	s := &Slot{window: minWindow}
	for range 100 {
		s.learn(time.Microsecond)
	}
	if s.window != maxWindow {
		t.Errorf("fast for long: %d, want %d", s.window, maxWindow)
	}
	for n := 0; s.window > minWindow; n++ {
		s.learn(time.Second)
		if n > 2 {
			t.Fatalf("slow %d times, and the window is still %d", n, s.window)
		}
	}
}

// TestWindowIsFilled: as many requests as the window holds lie in the socket, and no more.
func TestWindowIsFilled(t *testing.T) {
	await.NoLeak(t)
	p := NewPool(Options{Queue: 100})
	w := newWorker(t, p, 1)
	l := w.lines[0]
	var flights []*flight
	for i := range 50 {
		flights = append(flights, start(t, p, fmt.Sprint(i)))
	}
	outstanding := func() int { return locked(p, func() int { return w.slots[0].count }) }
	if got := outstanding(); got != minWindow {
		t.Errorf("%d lie in the slot that has not learnt yet, want %d", got, minWindow)
	}
	first := l.begin()
	l.answer(ipc.KindSucceeded, first.id, time.Microsecond, string(first.body))
	flights[0].succeeded()
	await.Eventually(t, "the window is filled", func() bool { return outstanding() == maxWindow })
	if got := p.Load().Queued; got != 50-1-maxWindow {
		t.Errorf("%d wait in the queue, want %d", got, 50-1-maxWindow)
	}
	for i, f := range flights[1:] {
		r := l.begin()
		if !isFor(r, fmt.Sprint(i+1)) {
			t.Fatalf("number %d got %s", i+1, r.body)
		}
		l.succeed(r)
		f.succeeded()
	}
	empty(t, p)
}

// TestFirstComeFirstServed over the queue and the socket.
func TestFirstComeFirstServed(t *testing.T) {
	await.NoLeak(t)
	p := NewPool(Options{Queue: 20})
	l := newWorker(t, p, 1).lines[0]
	var flights []*flight
	for i := range 12 {
		flights = append(flights, start(t, p, fmt.Sprint(i)))
	}
	for i, f := range flights {
		r := l.begin()
		if !isFor(r, fmt.Sprint(i)) {
			t.Errorf("number %d got %s", i, r.body)
		}
		l.succeed(r)
		f.succeeded()
	}
}

// TestIdleSlotFirst: no call waits behind a busy slot while another is idle, and of the idle ones the last
// used is taken.
func TestIdleSlotFirst(t *testing.T) {
	await.NoLeak(t)
	p := NewPool(Options{Queue: 20})
	w := newWorker(t, p, 3)
	used := func(f *flight) int {
		return locked(p, func() int { return slices.Index(w.slots, f.slot) })
	}
	a, b, c := start(t, p, "a"), start(t, p, "b"), start(t, p, "c")
	slots := []int{used(a), used(b), used(c)}
	if slices.Sort(slots); !slices.Equal(slots, []int{0, 1, 2}) {
		t.Fatalf("three calls got the slots %v", slots)
	}
	warm := used(b)
	for _, l := range w.lines {
		if l.index != warm {
			l.succeed(l.begin())
		}
	}
	a.succeeded()
	c.succeeded()
	w.lines[warm].succeed(w.lines[warm].begin())
	b.succeeded()
	for i := range 5 {
		f := start(t, p, fmt.Sprint("again", i))
		if got := used(f); got != warm {
			t.Errorf("slot %d was taken, want the last used, %d", got, warm)
		}
		w.lines[warm].succeed(w.lines[warm].begin())
		f.succeeded()
	}
}

// TestIdleSlotSteals: what waits behind a call that takes long goes to the slot that is done first.
func TestIdleSlotSteals(t *testing.T) {
	await.NoLeak(t)
	p := NewPool(Options{Queue: 20})
	w := newWorker(t, p, 2)
	var flights []*flight
	for _, name := range []string{"a", "b", "c", "d"} {
		flights = append(flights, start(t, p, name))
	}
	slow, fast := w.lines[0], w.lines[1]
	held := slow.begin()
	for range 2 {
		fast.succeed(fast.begin())
	}
	moved := fast.begin() // its own are done: this one waited behind held
	if skipped := slow.expect(); string(skipped.body) != string(moved.body) || slow.claim(skipped.id) {
		t.Errorf("the slow slot could still claim %s", skipped.body)
	}
	fast.succeed(moved)
	slow.succeed(held)
	for _, f := range flights {
		f.succeeded()
	}
	empty(t, p)
}

// TestIdleSlotStealsWhereThereIsSomething: the fullest slot may have begun all that it holds; what waits
// elsewhere must not stay there for that.
func TestIdleSlotStealsWhereThereIsSomething(t *testing.T) {
	await.NoLeak(t)
	p := NewPool(Options{Queue: 20})
	w := newWorker(t, p, 2)
	for _, s := range w.slots {
		roomy(p, s, 8)
	}
	var flights []*flight
	for i := range 5 { // three at one slot, two at the other
		flights = append(flights, start(t, p, fmt.Sprint(i)))
	}
	full, other := w.lines[0], w.lines[1]
	if locked(p, func() bool { return w.slots[1].count == 3 }) {
		full, other = other, full
	}
	var requests []request
	for range 3 {
		requests = append(requests, full.begin())
	}
	running := other.begin()
	third := newWorker(t, p, 1).lines[0] // idle from the start
	third.succeed(third.begin())
	for _, r := range requests {
		full.succeed(r)
	}
	other.succeed(running)
	for _, f := range flights {
		f.succeeded()
	}
	empty(t, p)
}

// TestHalfIsStolen: an idle slot takes half of what waits, so that it is not back at once for more.
func TestHalfIsStolen(t *testing.T) {
	await.NoLeak(t)
	p := NewPool(Options{Queue: 20})
	w := newWorker(t, p, 1)
	roomy(p, w.slots[0], 8)
	var flights []*flight
	for i := range 8 {
		flights = append(flights, start(t, p, fmt.Sprint(i)))
	}
	slow := w.lines[0]
	held := slow.begin()
	second := newWorker(t, p, 1)
	fast := second.lines[0]
	counts := locked(p, func() [2]int { return [2]int{w.slots[0].count, second.slots[0].count} })
	if counts != [2]int{4, 4} {
		t.Errorf("the slots hold %v, want four each", counts)
	}
	for i := range 7 {
		r := fast.begin()
		if want := fmt.Sprint(i + 1); !isFor(r, want) {
			t.Errorf("got %s, want %s: the oldest first", r.body, want)
		}
		fast.succeed(r)
	}
	slow.succeed(held)
	for _, f := range flights {
		f.succeeded()
	}
	empty(t, p)
}

// inSocket is how many bytes lie unread in a worker's socket.
func inSocket(t *testing.T, l *line) int {
	t.Helper()
	n, err := unix.IoctlGetInt(l.fd, unix.TIOCINQ)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// fast is a slot whose model is fast, with n calls on their way and a leader.
func fast(t *testing.T, p *Pool, n int) (w *fakeWorker, flights []*flight) {
	t.Helper()
	w = newWorker(t, p, 1)
	l := w.lines[0]
	first := start(t, p, "first")
	r := l.begin()
	l.answer(ipc.KindSucceeded, r.id, time.Microsecond, string(r.body))
	first.succeeded()
	for i := range n {
		flights = append(flights, start(t, p, fmt.Sprint(i)))
	}
	parked(t, flights...)
	return w, flights
}

// TestHeldRequests: where the worker has enough to do, a request waits for the next write, and comes with it
// whatever that is.
func TestHeldRequests(t *testing.T) {
	for name, c := range map[string]struct {
		next func(t *testing.T, p *Pool, l *line, flights []*flight)
	}{
		"an answer": {func(t *testing.T, p *Pool, l *line, flights []*flight) {
			l.succeed(l.begin())
			flights[0].succeeded()
		}},
		"a cancel": {func(t *testing.T, p *Pool, l *line, flights []*flight) {
			p.Cancel(flights[0].Call)
			flights[0].failed(ErrCanceled)
		}},
		"a cancel of its own": {func(t *testing.T, p *Pool, l *line, flights []*flight) {
			p.Cancel(flights[len(flights)-1].Call)
			flights[len(flights)-1].failed(ErrCanceled)
		}},
		"a timeout": {func(t *testing.T, p *Pool, l *line, flights []*flight) {
			locked(p, func() bool { flights[0].deadline = time.Now(); return true })
			p.expire()
		}},
		"a thief": {func(t *testing.T, p *Pool, l *line, flights []*flight) {
			thief := newWorker(t, p, 1)
			served := thief.serve(echo)
			t.Cleanup(func() { thief.hangUp(served) })
		}},
	} {
		t.Run(name, func(t *testing.T) {
			await.NoLeak(t)
			p := NewPool(Options{Queue: 40})
			w, flights := fast(t, p, holdAbove)
			l, s := w.lines[0], w.slots[0]
			before := inSocket(t, l)
			held := start(t, p, "held")
			if n := locked(p, func() int { return s.held }); n != 1 || inSocket(t, l) != before {
				t.Fatalf("%d are held, and %d bytes more in the socket", n, inSocket(t, l)-before)
			}
			flights = append(flights, held)
			parked(t, held)
			c.next(t, p, l, flights)
			if n := locked(p, func() int { return s.held }); n != 0 {
				t.Errorf("%d are still held", n)
			}
			served := w.serve(echo) // the held one has come, or it never ends
			for _, f := range flights {
				if f.result().Err == nil {
					f.succeeded()
				}
			}
			empty(t, p)
			w.hangUp(served)
		})
	}
}

// TestNotHeld: a request is written at once where nobody else's answer is due.
func TestNotHeld(t *testing.T) {
	p := NewPool(Options{Queue: 40})
	w, flights := fast(t, p, holdAbove-1)
	l := w.lines[0]
	before := inSocket(t, l)
	flights = append(flights, start(t, p, "next"))
	if inSocket(t, l) == before {
		t.Error("the fourth was held")
	}
	parked(t, flights...)
	large := &flight{NewCall("large", append(append([]byte(`"`), make([]byte, holdSize)...), '"'), nil), t, make(chan struct{})}
	if err := p.Admit(); err != nil {
		t.Fatal(err)
	}
	before = inSocket(t, l)
	p.Submit(large.Call)
	large.wait()
	if inSocket(t, l) == before {
		t.Error("a large one was held")
	}
	for range flights {
		l.succeed(l.begin())
	}
	l.succeed(l.begin())
	large.result()
}
