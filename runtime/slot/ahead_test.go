package slot

import (
	"testing"
	"time"

	"pinion/ipc"
	"pinion/runtime/predict"
	"pinion/tests/await"
)

// measured has the model have a call for that long.
func measured(t *testing.T, p *Pool, l *slotEnd, took time.Duration) {
	t.Helper()
	c := start(t, p, "measured")
	l.answer(ipc.KindSucceeded, l.begin().id, took, string(body("measured")))
	c.succeeded()
}

// startAhead submits a call that is admitted ahead of a slot.
func startAhead(t *testing.T, p *Pool, name string) *testCall {
	t.Helper()
	if !p.AdmitFree(true) {
		t.Fatal("no call is admitted ahead")
	}
	f := &testCall{NewCall(name, []byte(`{"name":"`+name+`"}`), nil), t, make(chan struct{})}
	p.Submit(f.Call)
	f.wait()
	return f
}

func TestOneCallIsAdmittedAheadOfASlot(t *testing.T) {
	p := testPool(t, Options{})
	l := newWorker(t, p, 1).ends[0]
	measured(t, p, l, aheadBelow-time.Millisecond)
	running := start(t, p, "runs")
	has := l.begin()

	if p.AdmitFree(false) {
		t.Error("a slot was free")
	}
	if free, ok := p.AwaitFree(t.Context(), true); free != 0 || !ok {
		t.Errorf("got %d, %v; want no free slot, and a call ahead", free, ok)
	}
	next := startAhead(t, p, "ahead")
	if p.AdmitFree(true) {
		t.Error("a second one was admitted ahead")
	}
	again := make(chan int, 1)
	go func() {
		free, _ := p.AwaitFree(t.Context(), true)
		again <- free
	}()
	await.Eventually(t, "it waits", func() bool { return underLock(p, func() bool { return p.admission.freed != nil }) })
	l.succeed(has)
	running.succeeded()
	if free := <-again; free != 0 {
		t.Errorf("%d slots are free, and the one has the call that was ahead", free)
	}
	l.succeed(l.begin())
	next.succeeded()
	if free, ok := p.AwaitFree(t.Context(), true); free != 1 || !ok {
		t.Errorf("at the end: %d, %v", free, ok)
	}
	empty(t, p)
}

// TestNoCallIsAdmittedAhead where it could wait long, or would take the place of another.
func TestNoCallIsAdmittedAhead(t *testing.T) {
	for name, prepare := range map[string]func(*testing.T, *Pool) *slotEnd{
		"no prediction was measured": func(t *testing.T, p *Pool) *slotEnd { return newWorker(t, p, 1).ends[0] },
		"predictions are long": func(t *testing.T, p *Pool) *slotEnd {
			l := newWorker(t, p, 1).ends[0]
			measured(t, p, l, aheadBelow)
			return l
		},
		"a request was refused": func(t *testing.T, p *Pool) *slotEnd {
			l := newWorker(t, p, 1).ends[0]
			measured(t, p, l, time.Millisecond)
			if !p.AdmitFree(false) {
				t.Fatal("no slot is free")
			}
			if err := p.Admit(nil); err != predict.ErrBusy {
				t.Errorf("a request: %v", err)
			}
			p.Withdraw(nil)
			return l
		},
		"a call waited for too long": func(t *testing.T, p *Pool) *slotEnd {
			l := newWorker(t, p, 1).ends[0]
			measured(t, p, l, time.Millisecond)
			running := start(t, p, "runs")
			has := l.begin()
			if !p.AdmitFree(true) {
				t.Fatal("no call is admitted ahead")
			}
			late := NewCall("late", body("late"), nil)
			late.Deadline = time.Now().Add(time.Millisecond)
			p.Submit(late)
			if late.Wait(); late.Result.Err != predict.ErrQueueTimeout {
				t.Errorf("it ended with %v", late.Result.Err)
			}
			l.succeed(has)
			running.succeeded()
			return l
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := testPool(t, Options{})
			l := prepare(t, p)
			running := start(t, p, "runs")
			has := l.begin()
			if p.AdmitFree(true) {
				t.Error("a call was admitted ahead")
			}
			l.succeed(has)
			running.succeeded()
			empty(t, p)
		})
	}
}
