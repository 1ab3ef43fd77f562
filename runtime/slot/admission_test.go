package slot

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"pinion/ipc"
	"pinion/runtime/predict"
	"pinion/tests/assert"
)

func TestAdmission_WithoutQueue(t *testing.T) {
	p := testPool(t, Options{})
	assert.ErrorIs(t, "a pool without slots", p.Admit(nil), predict.ErrBusy)
	w := newWorker(t, p, 2)
	first := newTestCall(t, p, "first")
	newTestCall(t, p, "second")
	assert.ErrorIs(t, "a full pool", p.Admit(nil), predict.ErrBusy)
	assert.Equal(t, "the load", p.Load(), (Load{Slots: 2, Capacity: 2, InFlight: 2}))
	p.Withdraw(nil) // one is not submitted
	second := newTestCall(t, p, "third")
	for _, f := range []*testCall{first, second} {
		p.Submit(f.Call)
		f.wait()
	}
	for _, l := range w.ends {
		l.succeed(l.begin())
	}
	first.succeeded()
	second.succeeded()
	empty(t, p)
}

// TestAdmission_CapacityIsFreeBeforeAnswer: a client that sends its next request after an answer is never refused.
func TestAdmission_CapacityIsFreeBeforeAnswer(t *testing.T) {
	p, w := poolWithWorker(t, Options{}, 1)
	served := w.serve(echo)
	for i := range 2000 {
		start(t, p, fmt.Sprint(i)).succeeded()
	}
	w.disconnect(served)
}

func TestAdmission_WithQueue(t *testing.T) {
	p, w := poolWithWorker(t, Options{Queue: 3}, 1)
	l := w.ends[0]
	// The model takes 10 s each time, it says.
	slow := start(t, p, "slow")
	l.answer(ipc.KindSucceeded, l.begin().id, 10*time.Second, string(body("slow")))
	slow.succeeded()

	flights := startNumbered(t, p, 4) // one in the slot, one more in its window, two in the queue
	assert.Equal(t, "the load", p.Load(), Load{Slots: 1, Capacity: 1, InFlight: 4, Queued: 2})
	var full *predict.QueueFullError
	err := p.Admit(nil)
	assert.TrueNow(t, errors.As(err, &full), "got %v, want a full queue", err)
	assert.Equal(t, "Retry-After while two wait for a slot that takes 10 s", full.RetryAfter, 30*time.Second)
	for _, f := range flights {
		f.serveOne(l)
	}
	empty(t, p)
}

// TestAdmission_AwaitFreeIsWokenByFreeSlotAlone: while calls wait in the queue, the end of one frees none. A server
// that waits for jobs under direct load would be woken by each request.
func TestAdmission_AwaitFreeIsWokenByFreeSlotAlone(t *testing.T) {
	p := testPool(t, Options{Queue: 1})
	newWorker(t, p, 1)
	for range 2 {
		assert.NoError(t, p.Admit(nil))
	}
	free := make(chan int)
	go func() { free <- p.AwaitCapacity(t.Context()) }()
	freed := func() chan struct{} {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.admission.freed
	}
	assert.Eventually(t, "it waits", func() bool { return freed() != nil })
	waits := freed()
	p.Withdraw(nil)
	assert.Equal(t, "wakes while no slot was free", freed(), waits)
	p.Withdraw(nil)
	assert.Equal(t, "free slots", <-free, 1)
}

func TestAdmission_RetryAfterIsAtLeastSecond(t *testing.T) {
	p := NewPool(Options{Queue: 1})
	start := newTestCall(t, p, "waits for a worker")
	var full *predict.QueueFullError
	if err := p.Admit(nil); !errors.As(err, &full) || full.RetryAfter != time.Second {
		t.Errorf("got %+v, want an error of type *predict.QueueFullError and RetryAfter %v", err, time.Second)
	}
	p.Cancel(start.Call)
	p.Submit(start.Call)
	start.Wait()
	empty(t, p)
}

// TestAdmission_QueueOfPoolWithoutWorkers: the first worker gets the calls that wait for it.
func TestAdmission_QueueOfPoolWithoutWorkers(t *testing.T) {
	p := testPool(t, Options{Queue: 5})
	flights := startNumbered(t, p, 5)
	parked(t, flights...)
	l := newWorker(t, p, 1).ends[0]
	for _, f := range flights {
		f.serveOne(l)
	}
	empty(t, p)
}

func TestAdmission_Refuse(t *testing.T) {
	p, w := poolWithWorker(t, Options{Queue: 10}, 1)
	l := w.ends[0]
	reason := &predict.NotReadyError{Reason: "for the test"}
	running, window, waits := start(t, p, "running"), start(t, p, "window"), start(t, p, "waits")
	late := newTestCall(t, p, "late")
	begun := l.begin()
	p.Refuse(reason)
	waits.failed(reason)
	p.Submit(late.Call)
	late.wait()
	late.failed(reason)
	assert.ErrorIs(t, "Admit", p.Admit(nil), reason)
	// Predictions with a slot go on.
	l.succeed(begun)
	running.succeeded()
	window.serveOne(l)
	empty(t, p)

	p.Refuse(nil)
	start(t, p, "again").serveOne(l)
}

// TestAdmission_RefuseAndWorkerExit: calls of a dead worker are ended while the pool refuses calls.
func TestAdmission_RefuseAndWorkerExit(t *testing.T) {
	p, w := poolWithWorker(t, Options{Queue: 10}, 1)
	running, window := start(t, p, "running"), start(t, p, "window")
	w.ends[0].begin()
	reason := &predict.NotReadyError{Reason: "for the test"}
	p.Refuse(reason)
	assert.Equal(t, "calls of the model", w.terminate("died"), 1)
	running.failed(ErrWorkerExit)
	window.failed(reason)
	empty(t, p)
}
