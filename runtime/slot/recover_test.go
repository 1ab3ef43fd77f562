package slot

import (
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"pinion/ipc"
	"pinion/tests/assert"
)

// Where a slot's unsent bytes lie in the page; ipc/PROTOCOL.md draws it.
const (
	atUnsent   = pageHeader + ipc.MaxSlots*pageSlot
	unsentSize = 16384
	unsentData = 64
)

// leaveUnsent leaves these bytes unsent in the page, as a worker that dies.
func (l *slotEnd) leaveUnsent(unsent []byte) {
	at := atUnsent + l.index*unsentSize
	copy(l.w.mem[at+unsentData:], unsent)
	(*atomic.Uint64)(unsafe.Pointer(&l.w.mem[at+8])).Store(uint64(len(unsent)))
}

// frame returns an answer as it stands in a stream.
func frame(kind ipc.Kind, id uint64, body []byte) []byte {
	return append(ipc.AppendHeader(nil, kind, 0, id, uint64(time.Millisecond), len(body)), body...)
}

// TestRecover_UnsentAnswersOfDeadWorker: calls whose answers were ready get them, the leader and a follower alike. The
// call that ran fails, and the one behind it is queued again.
func TestRecover_UnsentAnswersOfDeadWorker(t *testing.T) {
	p, w := poolWithWorker(t, Options{Queue: 20}, 1)
	setWindow(p, w.slots[0], 8)
	flights := startNumbered(t, p, 5)
	parked(t, flights...)
	l := w.ends[0]
	var unsent []byte
	for range 3 {
		r := l.begin()
		unsent = append(unsent, frame(ipc.KindSucceeded, r.id, r.body)...)
	}
	l.begin()
	l.leaveUnsent(unsent)
	assert.Equal(t, "calls of the model", w.terminate("worker killed by SIGKILL"), 1)
	succeeded(flights[:3]...)
	flights[3].failed(ErrWorkerExit)
	next := newWorker(t, p, 1).ends[0]
	flights[4].serveOne(next)
	empty(t, p)
}

// TestRecover_InvalidRestOfDeadWorker: invalid bytes are ignored, and the calls fail with the cause of the exit.
func TestRecover_InvalidRestOfDeadWorker(t *testing.T) {
	p, w := poolWithWorker(t, Options{Queue: 20}, 1)
	f := start(t, p, "a")
	leading(t, f)
	l := w.ends[0]
	l.begin()
	l.leaveUnsent(append(frame(ipc.KindSucceeded, 4711, nil), 1, 2, 3))
	w.terminate("worker killed by SIGKILL")
	f.failed(ErrWorkerExit)
	assert.Equal(t, "kills once more", len(w.kills()), 0)
	empty(t, p)
}
