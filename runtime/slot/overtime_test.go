package slot

import (
	"errors"
	"testing"
	"time"

	"pinion/ipc"
	"pinion/tests/await"
)

// tookTooLong checks that a call ended because it ran for too long.
func (f *flight) tookTooLong() {
	f.t.Helper()
	var timeout *TimeoutError
	if r := f.result(); !errors.As(r.Err, &timeout) || timeout.After != short || r.Kind != 0 {
		f.t.Errorf("%s: kind %d, error %v", f.Name, r.Kind, r.Err)
	}
}

// asked waits until the front asks for the end of a call.
func (l *line) asked(id uint64) {
	l.w.t.Helper()
	await.Eventually(l.w.t, "its end is asked for", func() bool { return l.canceled(id) })
}

// TestPredictTimeout: one that runs for too long is cancelled, and fails whatever the model makes of that;
// but one that got done has got done.
func TestPredictTimeout(t *testing.T) {
	await.NoLeak(t)
	p := NewPool(Options{Queue: 4, PredictTimeout: short, CancelGrace: time.Hour})
	l := newWorker(t, p, 1).lines[0]
	for kind, end := range map[ipc.Kind]func(*flight){
		ipc.KindCanceled:  (*flight).tookTooLong,
		ipc.KindFailed:    (*flight).tookTooLong,
		ipc.KindSucceeded: func(f *flight) { f.result() },
	} {
		f, next := start(t, p, "running"), start(t, p, "next")
		r := l.begin()
		l.asked(r.id)
		l.answer(kind, r.id, time.Second, "{}")
		end(f)
		if kind == ipc.KindSucceeded && f.Result.Err != nil {
			t.Errorf("it got done, and ended with %v", f.Result.Err)
		}
		if took := f.Result.Elapsed; took != time.Second {
			t.Errorf("it took %s", took)
		}
		r = l.begin() // the time of one that waits is not counted
		if l.canceled(r.id) {
			t.Error("the next was cancelled as well")
		}
		l.succeed(r)
		next.succeeded()
	}
	empty(t, p)
}

// TestPredictTimeoutThatDoesNotHelp: the worker is ended, and with it the call.
func TestPredictTimeoutThatDoesNotHelp(t *testing.T) {
	await.NoLeak(t)
	p := NewPool(Options{PredictTimeout: short, CancelGrace: short})
	w := newWorker(t, p, 1)
	f := start(t, p, "deep in C")
	w.lines[0].begin()
	await.Eventually(t, "the worker is killed", func() bool { return len(w.kills()) > 0 })
	w.bury("killed by the server")
	f.tookTooLong()
	empty(t, p)
}

// TestTrainingMayTakeItsTime: it is let alone, while the same slot's others are not.
func TestTrainingMayTakeItsTime(t *testing.T) {
	await.NoLeak(t)
	p := NewPool(Options{Queue: 4, PredictTimeout: short})
	w := newWorker(t, p, 2)
	patient := newFlight(t, p, "patient")
	patient.Train = true
	p.Submit(patient.Call)
	patient.wait()
	other := start(t, p, "other")
	var theirs request
	var at *line
	for _, l := range w.lines {
		r := l.begin()
		if isFor(r, "other") {
			l.asked(r.id) // by then the first had as much time
			l.answer(ipc.KindCanceled, r.id, time.Second, "{}")
		} else {
			theirs, at = r, l
		}
	}
	other.tookTooLong()
	if at.canceled(theirs.id) {
		t.Error("it was cancelled")
	}
	at.succeed(theirs)
	patient.succeeded()
	empty(t, p)
}
