package slot

import (
	"testing"
	"time"

	"pinion/ipc"
	"pinion/tests/await"
)

// threadWorker is a worker whose slots are threads.
func threadWorker(t *testing.T, p *Pool, n int, h Hooks) *fakeWorker {
	t.Helper()
	w := prepareWorker(t, p, n)
	h.Threads = true
	w.hooks = h
	w.attach()
	return w
}

// beginTraining starts a call that wants its worker to itself.
func beginTraining(t *testing.T, p *Pool) *testCall {
	t.Helper()
	training := newTestCall(t, p, "training")
	training.Train = true
	p.Submit(training.Call)
	training.wait()
	return training
}

func TestThreads_CanceledTrainingLetsTheOthersGo(t *testing.T) {
	p := testPool(t, Options{Queue: 10})
	w := threadWorker(t, p, 2, Hooks{})
	first := start(t, p, "first")
	running := w.ends[first.slot.index(w)].begin()
	training := beginTraining(t, p)
	after := start(t, p, "after") // a slot is idle, but the training was first
	if got := locked(p, func() state { return after.state }); got != queued {
		t.Errorf("state of the call behind a training is %d, want %d", got, queued)
	}
	p.Cancel(training.Call)
	training.failed(ErrCanceled)
	other := w.ends[after.slot.index(w)]
	other.succeed(other.begin())
	after.succeeded()
	w.ends[first.slot.index(w)].succeed(running)
	first.succeeded()
	empty(t, p)
}

func TestThreads_StuckCallIsGivenUpIfPythonRuns(t *testing.T) {
	for _, noticed := range []bool{true, false} {
		p := testPool(t, Options{CancelGrace: time.Millisecond})
		w := threadWorker(t, p, 2, Hooks{})
		stuck := start(t, p, "stuck")
		l := w.ends[stuck.slot.index(w)]
		r := l.begin()
		if noticed {
			l.word(8).Store(r.id)
		}
		p.Cancel(stuck.Call)
		if !noticed {
			await.Eventually(t, "the worker is killed", func() bool { return len(w.kills()) == 1 })
			w.terminate("killed")
		}
		stuck.failed(ErrCanceled)
		if got := p.Load().Slots; got != 0 {
			t.Errorf("slots that take calls: got %d, want 0", got)
		}
		if noticed {
			l.answer(ipc.KindCanceled, r.id, 0, "{}") // too late, and no defect
			if got := len(w.kills()); got != 0 {
				t.Errorf("kills: got %d, want 0", got)
			}
		}
	}
}

// index is the place of the slot among a worker's.
func (s *Slot) index(w *fakeWorker) int {
	for i, x := range w.slots {
		if x == s {
			return i
		}
	}
	w.t.Fatal("the slot is another worker's")
	return 0
}
