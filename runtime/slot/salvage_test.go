package slot

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"pinion/ipc"
	"pinion/tests/await"
)

// Where a slot's unsent bytes lie in the page; ipc/PROTOCOL.md draws it.
const (
	atUnsent   = pageHeader + ipc.MaxSlots*pageSlot
	unsentSize = 16384
	unsentData = 64
)

// leave has the line's worker die with these bytes unsent.
func (l *line) leave(unsent []byte) {
	at := atUnsent + l.index*unsentSize
	copy(l.w.mem[at+unsentData:], unsent)
	(*atomic.Uint64)(unsafe.Pointer(&l.w.mem[at+8])).Store(uint64(len(unsent)))
}

// frame is an answer as it stands in a stream.
func frame(kind ipc.Kind, id uint64, body []byte) []byte {
	return append(ipc.AppendHeader(nil, kind, 0, id, uint64(time.Millisecond), len(body)), body...)
}

// TestAnswersOutliveTheirWorker: what had an answer gets it, one of those that read the socket and one that slept;
// the one that ran fails, and the one behind it goes on.
func TestAnswersOutliveTheirWorker(t *testing.T) {
	await.NoLeak(t)
	p := NewPool(Options{Queue: 20})
	w := newWorker(t, p, 1)
	roomy(p, w.slots[0], 8)
	var flights []*flight
	for i := range 5 {
		flights = append(flights, start(t, p, fmt.Sprint(i)))
	}
	parked(t, flights...)
	l := w.lines[0]
	var unsent []byte
	for range 3 {
		r := l.begin()
		unsent = append(unsent, frame(ipc.KindSucceeded, r.id, r.body)...)
	}
	l.begin()
	l.leave(unsent)
	if had := w.bury("worker killed by SIGKILL"); had != 1 {
		t.Errorf("the model had %d calls, want 1", had)
	}
	for _, f := range flights[:3] {
		f.succeeded()
	}
	flights[3].failed(ErrWorker)
	next := newWorker(t, p, 1).lines[0]
	next.succeed(next.begin())
	flights[4].succeeded()
	empty(t, p)
}

// TestRubbishOfADeadWorker harms nobody: its calls fail with the cause of its death.
func TestRubbishOfADeadWorker(t *testing.T) {
	await.NoLeak(t)
	p := NewPool(Options{Queue: 20})
	w := newWorker(t, p, 1)
	f := start(t, p, "a")
	leading(t, f)
	l := w.lines[0]
	l.begin()
	l.leave(append(frame(ipc.KindSucceeded, 4711, nil), 1, 2, 3))
	w.bury("worker killed by SIGKILL")
	f.failed(ErrWorker)
	if kills := w.kills(); len(kills) != 0 {
		t.Errorf("it was killed once more: %q", kills)
	}
	empty(t, p)
}
