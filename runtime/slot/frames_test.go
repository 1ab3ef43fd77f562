package slot

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"pinion/ipc"
	"pinion/tests/assert"
)

// TestFrames_Violations: a worker that violates the protocol is killed, and its calls end like those of any dead
// worker.
func TestFrames_Violations(t *testing.T) {
	for name, c := range map[string]struct {
		send func(l *slotEnd, r request)
		says string
	}{
		"an answer to an unknown id": {func(l *slotEnd, r request) {
			l.answer(ipc.KindSucceeded, r.id+ipc.Claims, 0, "{}")
		}, "not outstanding"},
		"an answer to an id of another word": {func(l *slotEnd, r request) {
			l.answer(ipc.KindSucceeded, r.id^1, 0, "{}")
		}, "not outstanding"},
		"a frame that only the front sends": {func(l *slotEnd, r request) {
			l.answer(ipc.KindPredict, r.id, 0, "{}")
		}, "a frame of kind Predict on a slot's channel"},
		"a frame of the control channel": {func(l *slotEnd, r request) {
			l.answer(ipc.KindReady, 0, 0, "{}")
		}, "a frame of kind Ready on a slot's channel"},
		"an unknown kind": {func(l *slotEnd, r request) {
			l.answer(200, r.id, 0, "{}")
		}, "a frame of kind unknown (200) on a slot's channel"},
		"a mark that is not JSON": {func(l *slotEnd, r request) {
			l.answer(ipc.KindLogMark, r.id, 0, "{")
		}, "a log mark that cannot be read"},
		"a log that is not JSON": {func(l *slotEnd, r request) {
			l.answer(ipc.KindLog, r.id, 0, `{"source":1}`)
		}, "a log frame that cannot be read"},
		"no frame at all": {func(l *slotEnd, r request) {
			writeAll(l.w.t, l.fd, bytes.Repeat([]byte("x"), 100))
		}, "protocol violated: header 78"},
		"a file frame without a file": {func(l *slotEnd, r request) {
			writeAll(l.w.t, l.fd, ipc.AppendHeader(nil, ipc.KindSucceeded, ipc.FlagFile, r.id, 0, 0))
		}, "without its descriptor"},
	} {
		t.Run(name, func(t *testing.T) {
			p, w := poolWithWorker(t, Options{Queue: 10}, 1)
			running, window := start(t, p, "running"), start(t, p, "window")
			c.send(w.ends[0], w.ends[0].begin())
			assert.Eventually(t, "it is killed", func() bool { return len(w.kills()) > 0 })
			if k := w.kills(); len(k) != 1 || !strings.Contains(k[0], c.says) || !strings.Contains(k[0], "protocol violated") {
				t.Errorf("killed because: %q, want %q", k, c.says)
			}
			assert.Equal(t, "taken for one that closed its channel", w.closings.Load(), 0)
			w.terminate("killed")
			running.failed(ErrWorkerExit)
			window.serveOne(newWorker(t, p, 1).ends[0])
			empty(t, p)
		})
	}
}

// TestFrames_SecondAnswer: the first ends the call, the second the worker.
func TestFrames_SecondAnswer(t *testing.T) {
	p, w := poolWithWorker(t, Options{Queue: 10}, 1)
	first, second := start(t, p, "first"), start(t, p, "second")
	r := w.ends[0].begin()
	w.ends[0].succeed(r)
	w.ends[0].succeed(r)
	first.succeeded()
	assert.Eventually(t, "it is killed", func() bool { return len(w.kills()) == 1 })
	w.terminate("killed")
	second.serveOne(newWorker(t, p, 1).ends[0])
	empty(t, p)
}

// TestFrames_AnswerToWhatWasTakenBack: an answer to a revoked call is a violation.
func TestFrames_AnswerToWhatWasTakenBack(t *testing.T) {
	p, w := poolWithWorker(t, Options{Queue: 10}, 1)
	running, window := start(t, p, "running"), start(t, p, "window")
	begun := w.ends[0].begin()
	p.Cancel(window.Call)
	window.failed(ErrCanceled)
	w.ends[0].succeed(w.ends[0].expect())
	assert.Eventually(t, "it is killed", func() bool { return len(w.kills()) == 1 })
	w.ends[0].succeed(begun) // too late
	w.terminate("killed")
	running.failed(ErrWorkerExit)
	empty(t, p)
}

// TestFrames_ContextIsPassedOn: the body of a request has all parts of its call.
func TestFrames_ContextIsPassedOn(t *testing.T) {
	p, l := poolWithSlot(t, Options{Queue: 10})
	f := &testCall{NewCall("a", []byte(`{"s":"world"}`), []byte(`{"user":"ann"}`)), t, make(chan struct{})}
	assert.NoError(t, p.Admit(nil))
	p.Submit(f.Call)
	f.wait()
	r := l.begin()
	assert.Equal(t, "body", string(r.body), `{"input":{"s":"world"},"context":{"user":"ann"}}`)
	l.answer(ipc.KindCanceled, r.id, 0, `{"metrics":{}}`)
	f.result()
}

func TestFrames_LargeBodies(t *testing.T) {
	p, l := poolWithSlot(t, Options{Queue: 10})
	for _, size := range []int{ipc.InlineMax - 20, ipc.InlineMax + 1, 20 << 20} {
		input := append(append([]byte(`"`), bytes.Repeat([]byte("x"), size)...), '"')
		f := &testCall{NewCall("large", input, nil), t, make(chan struct{})}
		assert.NoError(t, p.Admit(nil))
		p.Submit(f.Call)
		f.wait()
		r := l.begin()
		want := slices.Concat([]byte(`{"input":`), input, []byte(`}`))
		assert.True(t, bytes.Equal(r.body, want), "%d bytes came as %d, want %q", len(want), len(r.body), want)
		sent := make(chan struct{})
		go func() {
			l.succeed(r)
			close(sent)
		}()
		got := f.result()
		<-sent
		assert.True(t, got.Err == nil && bytes.Equal(got.Body, r.body),
			"%d bytes came back as %d, %v, want %q", len(r.body), len(got.Body), got.Err, r.body)
		assert.True(t, (got.Release != nil) == (len(got.Body) >= 64<<10),
			"%d bytes: something to give back: %v, want %t", len(r.body), got.Release != nil, len(got.Body) >= 64<<10)
		if got.Release != nil {
			got.Release()
		}
	}
	empty(t, p)
}

// TestFrames_Logs: text of a pipe is claimed by its mark; text that the worker attributes comes in frames.
func TestFrames_Logs(t *testing.T) {
	p, w := poolWithWorker(t, Options{Queue: 10}, 1)
	l := w.ends[0]
	f := start(t, p, "talks")
	r := l.begin()
	send := func(kind ipc.Kind, id uint64, body string) {
		t.Helper()
		assert.NoError(t, l.send(kind, id, 0, []byte(body)))
	}
	w.write("one\ntwo")
	send(ipc.KindLogMark, r.id, `{"stdout":4,"stderr":0}`)
	send(ipc.KindLog, r.id, `{"source":"stderr","data":"apart\n"}`)
	send(ipc.KindLogMark, r.id, `{"stdout":7,"stderr":0}`)
	send(ipc.KindLog, r.id+ipc.Claims, `{"source":"stdout","data":"from one that is over\n"}`)
	l.succeed(r)
	f.succeeded()
	assert.Equal(t, "logs", string(f.Result.Logs), "one\napart\ntwo")
	assert.EqualSlices(t, "the server's log",
		w.logged, []string{"stderr talks apart\n", "stdout  from one that is over\n"})
	assert.Equal(t, "elapsed", f.Result.Elapsed, time.Millisecond)
}
