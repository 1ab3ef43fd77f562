package slot

import (
	"testing"
	"time"

	"pinion/ipc"
	"pinion/tests/assert"
)

// setWindow gives a slot a window of n.
func setWindow(p *Pool, s *Slot, n int) {
	p.mu.Lock()
	s.window.size = n
	p.mu.Unlock()
}

// asleep makes a call whose goroutine has been woken at its slot and does not run yet. awake starts that goroutine.
func asleep(f *testCall) {
	p := f.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	f.slot.ch.follow(f.Call)
	f.Call.waiter.parked = true
}

func awake(f *testCall) {
	go func() {
		<-f.waiter.wake
		f.pool.mu.Lock()
		f.Call.waiter.parked = false
		f.pool.mu.Unlock()
		f.Wait()
		close(f.done)
	}()
}

// leaderAndFollowers returns a slot with a leader, whose call has begun, and two followers, the first of them asleep.
func leaderAndFollowers(t *testing.T, p *Pool) (l *slotEnd, leader, deep, other *testCall) {
	t.Helper()
	w := newWorker(t, p, 1)
	setWindow(p, w.slots[0], 8)
	leader = start(t, p, "leader")
	leading(t, leader)
	deep = newTestCall(t, p, "deep")
	p.Submit(deep.Call)
	asleep(deep)
	other = start(t, p, "other")
	parked(t, other)
	return w.ends[0], leader, deep, other
}

// endings returns the ways in which a call ends without an answer.
func endings() map[string]func(*Pool, *testCall) {
	return map[string]func(*Pool, *testCall){
		"canceled": func(p *Pool, f *testCall) { p.Cancel(f.Call) },
		"timed out": func(p *Pool, f *testCall) {
			locked(p, func() bool { f.deadline = time.Now(); return true })
			p.locked(p.expireLate)
		},
	}
}

// TestLeader_NextLeaderHasEnded: the leader promotes the next one, whose call ends before its goroutine runs. Another
// one must read for the rest.
func TestLeader_NextLeaderHasEnded(t *testing.T) {
	for name, end := range endings() {
		t.Run(name, func(t *testing.T) {
			p := testPool(t, Options{Queue: 10})
			l, leader, deep, other := leaderAndFollowers(t, p)
			leader.serveOne(l)
			end(p, deep)
			awake(deep)
			r := deep.result()
			assert.True(t, r.Err != nil, "it was to end without an answer, and ended with %d", r.Kind)
			other.serveOne(l)
			empty(t, p)
		})
	}
}

// TestLeader_NextLeaderIsStolen: the same with a call that moves to another slot.
func TestLeader_NextLeaderIsStolen(t *testing.T) {
	p := testPool(t, Options{Queue: 10})
	l, leader, deep, other := leaderAndFollowers(t, p)
	leader.serveOne(l)
	idle := newWorker(t, p, 1).ends[0]
	r := idle.begin()
	assert.TrueNow(t, isFor(r, "deep"), `the idle slot got %s: isFor(r, "deep") = false, want true`, r.body)
	other.serveOne(l)
	idle.succeed(r)
	awake(deep)
	deep.succeeded()
	empty(t, p)
}

// TestLeader_NextLeaderAndWorkerExit is the same with a worker that dies.
func TestLeader_NextLeaderAndWorkerExit(t *testing.T) {
	p := testPool(t, Options{Queue: 10})
	l, leader, deep, other := leaderAndFollowers(t, p)
	leader.serveOne(l)
	l.w.terminate("died")
	second := newWorker(t, p, 1).ends[0]
	second.succeed(second.begin())
	awake(deep)
	deep.succeeded()
	other.serveOne(second)
	empty(t, p)
}

// TestLeader_IsStolen: the leader's call moves to another slot. Its goroutine follows, and its slot gets a new leader.
func TestLeader_IsStolen(t *testing.T) {
	p := testPool(t, Options{Queue: 10})
	a := newWorker(t, p, 1).ends[0]
	first := newTestCall(t, p, "first")
	p.Submit(first.Call)
	begun := a.begin()
	second := start(t, p, "second") // the model has not begun it, and its goroutine leads: first's is not there yet
	leading(t, second)
	b := newWorker(t, p, 1).ends[0]
	r := b.begin()
	assert.TrueNow(t, isFor(r, "second"), `the idle slot got %s: isFor(r, "second") = false, want true`, r.body)
	skipped := a.expect()
	assert.True(t, isFor(skipped, "second") && !a.claim(skipped.id),
		`the other slot could claim %s, want isFor(skipped, "second") true and a.claim(skipped.id) false`, skipped.body)
	b.succeed(r)
	second.succeeded()
	first.wait()
	a.succeed(begun)
	first.succeeded()
	empty(t, p)
}

// TestLeader_Ends: the leader's call ends without an answer, and its goroutine must not stay in the socket.
func TestLeader_Ends(t *testing.T) {
	for name, end := range endings() {
		t.Run(name, func(t *testing.T) {
			p, l := poolWithSlot(t, Options{Queue: 10})
			f := start(t, p, "first")
			leading(t, f)
			end(p, f)
			r := f.result()
			assert.True(t, r.Err != nil, "it was to end without an answer, and ended with %d", r.Kind)
			start(t, p, "second").serveOne(l)
			empty(t, p)
		})
	}
}

// TestLeader_OneReadWakesAll: the answers of one read reach all calls, in any order.
func TestLeader_OneReadWakesAll(t *testing.T) {
	p, w := poolWithWorker(t, Options{Queue: 40}, 1)
	setWindow(p, w.slots[0], 32)
	l := w.ends[0]
	var flights []*testCall
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
	succeeded(flights...)
	empty(t, p)
}

// TestLeader_AnswerBeforeWait: an answer may come before its own goroutine waits, read by another's.
func TestLeader_AnswerBeforeWait(t *testing.T) {
	p, l := poolWithSlot(t, Options{Queue: 10})
	early := newTestCall(t, p, "early")
	p.Submit(early.Call)
	other := start(t, p, "other")
	leading(t, other)
	l.succeed(l.begin())
	assert.Eventually(t, "the answer is read", func() bool { return p.Load().InFlight == 1 })
	early.wait()
	early.succeeded()
	other.serveOne(l)
	empty(t, p)
}
