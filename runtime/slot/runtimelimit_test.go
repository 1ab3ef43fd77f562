package slot

import (
	"errors"
	"testing"
	"time"

	"pinion/ipc"
	"pinion/tests/assert"
)

// tookTooLong checks that a call ended at the runtime limit.
func (f *testCall) tookTooLong() {
	f.t.Helper()
	var timeout *TimeoutError
	r := f.result()
	assert.True(f.t, errors.As(r.Err, &timeout) && timeout.After == f.pool.o.PredictTimeout && r.Kind == 0,
		"%s: kind %d, error %v, want an error of type *TimeoutError, After %v and Kind 0", f.Name, r.Kind, r.Err, f.pool.o.PredictTimeout)
}

// cancelAsked waits until the front asks for the end of a call.
func (l *slotEnd) cancelAsked(id uint64) {
	l.w.t.Helper()
	assert.Eventually(l.w.t, "its end is asked for", func() bool { return l.canceled(id) })
}

// TestRuntimelimit_PredictTimeout: a call that runs for too long is canceled, and fails unless the model succeeds all
// the same.
func TestRuntimelimit_PredictTimeout(t *testing.T) {
	p, l := poolWithSlot(t, Options{Queue: 4, PredictTimeout: time.Second, CancelGrace: time.Hour})
	for kind, end := range map[ipc.Kind]func(*testCall){
		ipc.KindCanceled:  (*testCall).tookTooLong,
		ipc.KindFailed:    (*testCall).tookTooLong,
		ipc.KindSucceeded: func(f *testCall) { f.result() },
	} {
		f, next := start(t, p, "running"), start(t, p, "next")
		r := l.begin()
		l.cancelAsked(r.id)
		l.answer(kind, r.id, time.Second, "{}")
		end(f)
		assert.False(t, kind == ipc.KindSucceeded && f.Result.Err != nil, "it got done, and ended with %v", f.Result.Err)
		assert.Equal(t, "elapsed", f.Result.Elapsed, time.Second)
		r = l.begin() // waiting does not count
		assert.False(t, l.canceled(r.id), "the next was canceled as well")
		l.succeed(r)
		next.succeeded()
	}
	empty(t, p)
}

// TestRuntimeLimit_PredictTimeoutKillsWorker: a call that does not end when it is canceled ends with its worker.
func TestRuntimeLimit_PredictTimeoutKillsWorker(t *testing.T) {
	p, w := poolWithWorker(t, Options{PredictTimeout: short, CancelGrace: short}, 1)
	f := start(t, p, "deep in C")
	w.ends[0].begin()
	assert.Eventually(t, "the worker is killed", func() bool { return len(w.kills()) > 0 })
	w.terminate("killed by the server")
	f.tookTooLong()
	empty(t, p)
}

// TestRuntimelimit_TrainingHasNoLimit: a training is not canceled, while other calls of its slot are.
func TestRuntimelimit_TrainingHasNoLimit(t *testing.T) {
	p, w := poolWithWorker(t, Options{Queue: 4, PredictTimeout: short}, 2)
	unhurried := startTraining(t, p, "unhurried")
	other := start(t, p, "other")
	var theirs request
	var at *slotEnd
	for _, l := range w.ends {
		r := l.begin()
		if isFor(r, "other") {
			l.cancelAsked(r.id) // by then the training had as much time
			l.answer(ipc.KindCanceled, r.id, time.Second, "{}")
		} else {
			theirs, at = r, l
		}
	}
	other.tookTooLong()
	assert.False(t, at.canceled(theirs.id), "it was canceled")
	at.succeed(theirs)
	unhurried.succeeded()
	empty(t, p)
}
