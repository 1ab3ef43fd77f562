package supervise

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const hangSoon = 40 * time.Millisecond

// TestHang: a worker that is stopped is replaced; one that answers is let alone, whatever its model does.
func TestHang(t *testing.T) {
	s := act(t, "lives", func(o *Options) { o.HangTimeout = hangSoon })
	st := s.until("ready", ready)
	if got := s.generation("a"); got != "1" {
		t.Errorf("generation %s answers, want 1", got)
	}
	if err := unix.Kill(st.PID, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	waits := s.ask("waits", `"which"`) // lies in its socket, unbegun
	if r := waits.result(); r.Err != nil {
		t.Errorf("what it had not begun ended with %+v", r)
	}
	st = s.until("another", func(st Status) bool { return ready(st) && st.Restarts == 1 })
	says(t, "the last exit", st.LastExit, "killed by the server", "it has not answered on its control channel for 40ms")
}

// TestDeaf: a worker that works but does not answer is replaced, too.
func TestDeaf(t *testing.T) {
	s := act(t, "lives deaf", func(o *Options) { o.HangTimeout, o.Restart = hangSoon, Never })
	st := s.over()
	says(t, "the last exit", st.LastExit, "it has not answered on its control channel")
}

// TestNoQuestionsWithoutATimeout: the worker would not answer one.
func TestNoQuestionsWithoutATimeout(t *testing.T) {
	s := act(t, "lives deaf", nil)
	s.until("ready", ready)
	for range 20 {
		s.generation("a")
	}
	if st := s.Status(); st.Restarts != 0 || !ready(st) {
		t.Errorf("got %+v", st)
	}
}

// TestStuckLoop: a worker whose control thread answers, but whose loop takes no call, is replaced, and the next has what it
// had not begun.
func TestStuckLoop(t *testing.T) {
	s := act(t, "lives blind=1", func(o *Options) { o.HangTimeout = hangSoon })
	s.until("ready", ready)
	waits := s.ask("waits", `"which"`)
	if r := waits.result(); r.Err != nil {
		t.Errorf("what it had not begun ended with %+v", r)
	}
	st := s.until("another", func(st Status) bool { return ready(st) && st.Restarts == 1 })
	says(t, "the last exit", st.LastExit, "killed by the server", "has not taken a prediction for 40ms")
}
