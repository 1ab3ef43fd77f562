package slot

import (
	"testing"
	"time"

	"pinion/ipc"
	"pinion/tests/await"
)

// roomy gives a slot a window of n.
func roomy(p *Pool, s *Slot, n int) {
	p.mu.Lock()
	s.window = n
	p.mu.Unlock()
}

// asleep makes a call that waits at its slot and whose goroutine sleeps on, though it may be woken: what
// happens between a wake-up and the moment at which the goroutine runs. awake starts it.
func asleep(f *flight) {
	p := f.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	f.slot.follow(f.Call)
	f.Call.parked = true
}

func awake(f *flight) {
	go func() {
		<-f.wake
		f.pool.mu.Lock()
		f.Call.parked = false
		f.pool.mu.Unlock()
		f.Wait()
		close(f.done)
	}()
}

// crowd is a slot with a leader, who has begun, and two followers, the first of which sleeps a deep sleep.
func crowd(t *testing.T, p *Pool) (l *line, leader, deep, other *flight) {
	t.Helper()
	w := newWorker(t, p, 1)
	roomy(p, w.slots[0], 8)
	leader = start(t, p, "leader")
	leading(t, leader)
	deep = newFlight(t, p, "deep")
	p.Submit(deep.Call)
	asleep(deep)
	other = start(t, p, "other")
	parked(t, other)
	return w.lines[0], leader, deep, other
}

// TestNextLeaderHasEnded: the leader leaves and names the next, whose call ends before it has come to itself.
// Somebody must read for those that are left.
func TestNextLeaderHasEnded(t *testing.T) {
	for name, end := range map[string]func(*Pool, *flight){
		"canceled": func(p *Pool, f *flight) { p.Cancel(f.Call) },
		"timed out": func(p *Pool, f *flight) {
			locked(p, func() bool { f.deadline = time.Now(); return true })
			p.expire()
		},
	} {
		t.Run(name, func(t *testing.T) {
			await.NoLeak(t)
			p := NewPool(Options{Queue: 10})
			l, leader, deep, other := crowd(t, p)
			l.succeed(l.begin())
			leader.succeeded()
			end(p, deep)
			awake(deep)
			if r := deep.result(); r.Err == nil {
				t.Errorf("it was to end without an answer, and ended with %d", r.Kind)
			}
			l.succeed(l.begin())
			other.succeeded()
			empty(t, p)
		})
	}
}

// TestNextLeaderIsStolen: the same with a call that moves to another slot.
func TestNextLeaderIsStolen(t *testing.T) {
	await.NoLeak(t)
	p := NewPool(Options{Queue: 10})
	l, leader, deep, other := crowd(t, p)
	l.succeed(l.begin())
	leader.succeeded()
	idle := newWorker(t, p, 1).lines[0]
	r := idle.begin()
	if !isFor(r, "deep") {
		t.Fatalf("the idle slot got %s", r.body)
	}
	l.succeed(l.begin())
	other.succeeded()
	idle.succeed(r)
	awake(deep)
	deep.succeeded()
	empty(t, p)
}

// TestNextLeaderLosesItsWorker: the same with a worker that dies.
func TestNextLeaderLosesItsWorker(t *testing.T) {
	await.NoLeak(t)
	p := NewPool(Options{Queue: 10})
	l, leader, deep, other := crowd(t, p)
	l.succeed(l.begin())
	leader.succeeded()
	l.w.bury("died")
	second := newWorker(t, p, 1).lines[0]
	second.succeed(second.begin())
	awake(deep)
	deep.succeeded()
	second.succeed(second.begin())
	other.succeeded()
	empty(t, p)
}

// TestLeaderIsStolen: the call whose goroutine reads moves to another slot. Its goroutine follows it there,
// and those it leaves are not forgotten.
func TestLeaderIsStolen(t *testing.T) {
	await.NoLeak(t)
	p := NewPool(Options{Queue: 10})
	a := newWorker(t, p, 1).lines[0]
	first := newFlight(t, p, "first")
	p.Submit(first.Call)
	begun := a.begin()
	second := start(t, p, "second") // the model has not begun it, and its goroutine reads: first's is not there yet
	leading(t, second)
	b := newWorker(t, p, 1).lines[0]
	r := b.begin()
	if !isFor(r, "second") {
		t.Fatalf("the idle slot got %s", r.body)
	}
	if skipped := a.expect(); !isFor(skipped, "second") || a.claim(skipped.id) {
		t.Errorf("the other slot could claim %s", skipped.body)
	}
	b.succeed(r)
	second.succeeded()
	first.wait()
	a.succeed(begun)
	first.succeeded()
	empty(t, p)
}

// TestLeaderEnds: the call whose goroutine reads ends without an answer, and its goroutine must not sleep in
// the socket.
func TestLeaderEnds(t *testing.T) {
	for name, end := range map[string]func(*Pool, *flight){
		"canceled": func(p *Pool, f *flight) { p.Cancel(f.Call) },
		"timed out": func(p *Pool, f *flight) {
			locked(p, func() bool { f.deadline = time.Now(); return true })
			p.expire()
		},
	} {
		t.Run(name, func(t *testing.T) {
			await.NoLeak(t)
			p := NewPool(Options{Queue: 10})
			l := newWorker(t, p, 1).lines[0]
			f := start(t, p, "first")
			leading(t, f)
			end(p, f)
			if r := f.result(); r.Err == nil {
				t.Errorf("it was to end without an answer, and ended with %d", r.Kind)
			}
			second := start(t, p, "second")
			l.succeed(l.begin())
			second.succeeded()
			empty(t, p)
		})
	}
}

// TestOneReadWakesAll: the answers of one read reach all who wait for them, in whatever order they come.
func TestOneReadWakesAll(t *testing.T) {
	await.NoLeak(t)
	p := NewPool(Options{Queue: 40})
	w := newWorker(t, p, 1)
	roomy(p, w.slots[0], 32)
	l := w.lines[0]
	var flights []*flight
	var requests []request
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		flights = append(flights, start(t, p, name))
		requests = append(requests, l.begin())
	}
	parked(t, flights...)
	var b []byte
	for i := range requests {
		r := requests[len(requests)-1-i]
		b = append(ipc.AppendHeader(b, ipc.KindSucceeded, 0, r.id, 1000, len(r.body)), r.body...)
	}
	writeAll(t, l.fd, b)
	for _, f := range flights {
		f.succeeded()
	}
	empty(t, p)
}

// TestAnswerBeforeWait: an answer may come before its own goroutine waits, read by another's.
func TestAnswerBeforeWait(t *testing.T) {
	await.NoLeak(t)
	p := NewPool(Options{Queue: 10})
	l := newWorker(t, p, 1).lines[0]
	early := newFlight(t, p, "early")
	p.Submit(early.Call)
	other := start(t, p, "other")
	leading(t, other)
	l.succeed(l.begin())
	await.Eventually(t, "the answer is read", func() bool { return p.Load().InFlight == 1 })
	early.wait()
	early.succeeded()
	l.succeed(l.begin())
	other.succeeded()
	empty(t, p)
}
