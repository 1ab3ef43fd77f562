package slot

import (
	"fmt"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pinion/ipc"
	"pinion/tests/assert"
)

func TestExit_Detach(t *testing.T) {
	p, w := poolWithWorker(t, Options{Queue: 20}, 1)
	setWindow(p, w.slots[0], 4)
	flights := startNumbered(t, p, 7) // four in the socket, three in the queue
	parked(t, flights...)
	l := w.ends[0]
	l.begin()
	w.write("what it wrote before it died\n")
	assert.Equal(t, "calls of the model", w.terminate("worker killed by SIGSEGV"), 1)
	flights[0].failed(ErrWorkerExit)
	r := flights[0].result()
	if r.Err.Error() != "worker killed by SIGSEGV" || string(r.Logs) != "what it wrote before it died\n" ||
		r.Elapsed <= 0 {
		t.Errorf(`got %v, logs %q, took %s, want Err "worker killed by SIGSEGV", Logs %q and Elapsed more than 0`, r.Err,
			r.Logs, r.Elapsed, "what it wrote before it died\n")
	}
	assert.Equal(t, "the load", p.Load(), (Load{InFlight: 6, Queued: 6}))
	second := newWorker(t, p, 1).ends[0]
	for _, f := range flights[1:] {
		f.serveOne(second)
		assert.True(t, len(f.Result.Logs) == 0, "%s has the logs of the dead worker: %q", f.Name, f.Result.Logs)
	}
	empty(t, p)
}

// TestExit_DetachRequeues: calls that a dead worker had not begun go to other workers, in the order of their arrival,
// over all of its slots.
func TestExit_DetachRequeues(t *testing.T) {
	p, w := poolWithWorker(t, Options{Queue: 20}, 3)
	flights := startNumbered(t, p, 9) // two in each slot, three in the queue
	parked(t, flights...)
	lives := newWorker(t, p, 1).ends[0] // it takes one of the queue, or steals
	assert.Equal(t, "calls of the model", w.terminate("died"), 0)
	seen := make(map[string]bool)
	last := ""
	for n := range flights {
		r := lives.begin()
		if n > 2 && string(r.body) < last { // the first two were in its window before
			t.Errorf("%s came after %s, want at least %q", r.body, last, last)
		}
		last = string(r.body)
		assert.False(t, seen[last], "%s came twice, want seen[last] false", last)
		seen[last] = true
		lives.succeed(r)
	}
	succeeded(flights...)
	empty(t, p)
}

// TestExit_UnreadAnswersOfDeadWorker: answers that lie in the socket when the worker dies are delivered, with their
// logs.
func TestExit_UnreadAnswersOfDeadWorker(t *testing.T) {
	p, w := poolWithWorker(t, Options{Queue: 20}, 1)
	l := w.ends[0]
	done, running := newTestCall(t, p, "done"), newTestCall(t, p, "running")
	p.Submit(done.Call)
	p.Submit(running.Call) // no goroutine reads the socket yet
	r := l.begin()
	at := w.write("of done\n")
	assert.NoError(t, l.send(ipc.KindLogMark, r.id, 0, fmt.Appendf(nil, `{"stdout":%d,"stderr":0}`, at)))
	l.succeed(r)
	l.begin()
	w.write("of running\n")
	w.die()
	detached := make(chan int)
	go func() { detached <- w.terminate("died") }()
	done.wait()
	running.wait()
	done.succeeded()
	running.failed(ErrWorkerExit)
	assert.Equal(t, "the logs of the one that was done", string(done.Result.Logs), "of done\n")
	assert.Equal(t, "the logs of the one that ran", string(running.Result.Logs), "of running\n")
	assert.Equal(t, "calls of the model", <-detached, 1)
	assert.True(t, w.slots[0].Served(), "its success does not count")
	empty(t, p)
}

// TestExit_GrandchildKeepsSocket: the worker has exited, and its socket stays open.
func TestExit_GrandchildKeepsSocket(t *testing.T) {
	p, w := poolWithWorker(t, Options{Queue: 20}, 3)
	var flights []*testCall
	var leaked []int
	for i, l := range w.ends {
		flights = append(flights, start(t, p, fmt.Sprint(i)))
		fd := assert.Must(unix.FcntlInt(uintptr(l.fd), unix.F_DUPFD_CLOEXEC, 3))(t)
		leaked = append(leaked, fd)
	}
	for _, l := range w.ends {
		l.begin()
		unix.Close(l.fd)
		l.once.Do(func() {})
	}
	assert.Equal(t, "calls of the model", w.terminate("died"), 3)
	for _, f := range flights {
		f.failed(ErrWorkerExit)
	}
	for _, fd := range leaked {
		unix.Close(fd)
	}
	empty(t, p)
}

// TestExit_IdleWorkerDies: no goroutine reads at an idle slot, so the next call finds the worker dead.
func TestExit_IdleWorkerDies(t *testing.T) {
	p, w := poolWithWorker(t, Options{Queue: 20}, 1)
	start(t, p, "first").serveOne(w.ends[0])
	w.die()
	f := start(t, p, "second") // before the front knows
	assert.Eventually(t, "the end is seen", func() bool { return w.closings.Load() > 0 })
	assert.Equal(t, "calls of the model", w.terminate("died idle"), 0)
	f.serveOne(newWorker(t, p, 1).ends[0])
	empty(t, p)
}

// TestExit_DeadSlotsAreForgotten: no slot of a dead worker stays in the pool.
func TestExit_DeadSlotsAreForgotten(t *testing.T) {
	p := testPool(t, Options{Queue: 20})
	old := newWorker(t, p, 1)
	for i := range 20 {
		next := newWorker(t, p, 1)
		old.terminate("died")
		start(t, p, fmt.Sprint(i)).serveOne(next.ends[0])
		old = next
	}
	assert.Equal(t, "slots that the pool holds", locked(p, func() int { return len(p.slots) + len(p.idle) }), 2)
}

func TestExit_RunningAndServed(t *testing.T) {
	p, w := poolWithWorker(t, Options{Queue: 20}, 1)
	l, s := w.ends[0], w.slots[0]
	assert.True(t, s.Running() == "" && !s.Served(),
		"a new slot runs %q and has served: %v, want none and false", s.Running(), s.Served())
	f := start(t, p, "first")
	r := l.begin()
	assert.Equal(t, "running prediction", s.Running(), "first")
	l.answer(ipc.KindFailed, r.id, time.Millisecond, `{"metrics":{},"error":"x"}`)
	f.result()
	assert.True(t, s.Running() == "" && !s.Served(),
		"after a failure it runs %q and has served: %v, want none and false", s.Running(), s.Served())
	start(t, p, "second").serveOne(l)
	assert.True(t, s.Served(), "after a success it has not served")
	w.terminate("died")
	assert.Equal(t, "a closed slot", s.Running(), "")
}

// TestExit_DetachWaitsForAnswersOnly: once all answers are read, Detach waits no more.
func TestExit_DetachWaitsForAnswersOnly(t *testing.T) {
	p, w := poolWithWorker(t, Options{Queue: 20}, 1)
	l, s := w.ends[0], w.slots[0]
	f := newTestCall(t, p, "first")
	p.Submit(f.Call)
	l.succeed(l.begin())
	keep, err := unix.FcntlInt(uintptr(l.fd), unix.F_DUPFD_CLOEXEC, 3) // so that the channel stays open
	assert.NoError(t, err)
	defer unix.Close(keep)
	l.once.Do(func() { unix.Close(l.fd) })
	detached := make(chan int)
	go func() { detached <- w.terminate("died") }()
	assert.Eventually(t, "Detach waits", func() bool { return locked(p, func() bool { return s.ch.draining }) })
	f.wait()
	f.succeeded()
	assert.Equal(t, "calls of the model", <-detached, 0)
	select {
	case <-s.ch.drained:
	default:
		t.Error("Detach returned before the worker had drained, want it to wait no longer than that")
	}
}
