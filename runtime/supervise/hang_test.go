package supervise

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pinion/tests/assert"
)

const hangSoon = time.Second // the workers that do answer need some of it on a busy machine

// TestHang_StoppedWorkerIsReplaced: a worker that is stopped is replaced; one that answers stays.
func TestHang_StoppedWorkerIsReplaced(t *testing.T) {
	s := act(t, "lives", func(o *Options) { o.Timeouts.Hang = hangSoon })
	st := s.until("ready", ready)
	assert.Equal(t, "generation", s.generation("a"), "1")
	assert.NoError(t, unix.Kill(st.PID, unix.SIGSTOP))
	waits := s.ask("waits", `"which"`) // lies in its socket, unbegun
	r := waits.result()
	assert.True(t, r.Err == nil, "what it had not begun ended with %+v", r)
	st = s.until("another", func(st Status) bool { return ready(st) && st.Restarts == 1 })
	says(t, "the last exit", st.LastExit, "killed by the server", "it has not answered on its control channel for 1s")
}

// TestHang_UnansweredPings: a worker that works but does not answer is replaced, too.
func TestHang_UnansweredPings(t *testing.T) {
	st := act(t, "lives ignores-pings", func(o *Options) { o.Timeouts.Hang, o.Policy.Restart = hangSoon, Never }).end()
	says(t, "the last exit", st.LastExit, "it has not answered on its control channel")
}

// TestHang_NoPingsWithoutTimeout: the worker would not answer one.
func TestHang_NoPingsWithoutTimeout(t *testing.T) {
	s := serving(t, "lives ignores-pings", nil)
	for range 20 {
		s.generation("a")
	}
	st := s.Status()
	assert.True(t, st.Restarts == 0 && ready(st), "got %+v, want Restarts 0 and ready(st) true", st)
}

// TestHang_StuckLoop: a worker whose control thread answers, but whose loop takes no call, is replaced, and the next
// has what it had not begun.
func TestHang_StuckLoop(t *testing.T) {
	s := serving(t, "lives blind=1", func(o *Options) { o.Timeouts.Hang = hangSoon })
	waits := s.ask("waits", `"which"`)
	r := waits.result()
	assert.True(t, r.Err == nil, "what it had not begun ended with %+v", r)
	st := s.until("another", func(st Status) bool { return ready(st) && st.Restarts == 1 })
	says(t, "the last exit", st.LastExit, "killed by the server", "has not taken a prediction for 1s")
}
