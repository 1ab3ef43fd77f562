package slot

import (
	"testing"
	"time"

	"pinion/ipc"
	"pinion/tests/assert"
)

// threadWorker returns a worker whose slots are threads.
func threadWorker(t *testing.T, p *Pool, n int, h Hooks) *fakeWorker {
	t.Helper()
	w := prepareWorker(t, p, n)
	h.Threads = true
	w.hooks = h
	w.attach()
	return w
}

// startTraining starts a call that wants its worker to itself.
func startTraining(t testing.TB, p *Pool, name string) *testCall {
	t.Helper()
	return startWith(t, p, name, func(c *Call) { c.Train = true })
}

func TestThreads_CanceledTrainingLetsTheOthersGo(t *testing.T) {
	p := testPool(t, Options{Queue: 10})
	w := threadWorker(t, p, 2, Hooks{})
	first := start(t, p, "first")
	running := w.endOf(first).begin()
	training := startTraining(t, p, "training")
	after := start(t, p, "after") // a slot is idle, but the training was first
	assert.Equal(t, "state of the call behind a training", locked(p, func() state { return after.state }), queued)
	p.Cancel(training.Call)
	training.failed(ErrCanceled)
	other := w.endOf(after)
	after.serveOne(other)
	w.endOf(first).succeed(running)
	first.succeeded()
	empty(t, p)
}

func TestThreads_StuckCallIsGivenUpIfPythonRuns(t *testing.T) {
	for _, noticed := range []bool{true, false} {
		p := testPool(t, Options{CancelGrace: time.Millisecond})
		w := threadWorker(t, p, 2, Hooks{})
		stuck := start(t, p, "stuck")
		l := w.endOf(stuck)
		r := l.begin()
		if noticed {
			l.word(8).Store(r.id)
		}
		p.Cancel(stuck.Call)
		if !noticed {
			assert.Eventually(t, "the worker is killed", func() bool { return len(w.kills()) == 1 })
			w.terminate("killed")
		}
		stuck.failed(ErrCanceled)
		assert.Equal(t, "slots that take calls", p.Load().Slots, 0)
		if noticed {
			l.answer(ipc.KindCanceled, r.id, 0, "{}") // too late, and no defect
			assert.Equal(t, "kills", len(w.kills()), 0)
		}
	}
}

// endOf returns the worker's end of the slot that has a call.
func (w *fakeWorker) endOf(c *testCall) *slotEnd {
	s := locked(w.pool, func() *Slot { return c.slot })
	for i, x := range w.slots {
		if x == s {
			return w.ends[i]
		}
	}
	w.t.Fatal("no slot of this worker has the call, want one")
	return nil
}
