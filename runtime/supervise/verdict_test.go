package supervise

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pinion/ipc"
	"pinion/runtime/slot"
)

// tally counts what a supervisor tells of its processes.
type tally struct {
	mu       sync.Mutex
	starts   int
	verdicts []Verdict
}

func (c *tally) listen(o *Options) {
	o.OnStart = func() { c.mu.Lock(); defer c.mu.Unlock(); c.starts++ }
	o.OnExit = func(v Verdict) { c.mu.Lock(); defer c.mu.Unlock(); c.verdicts = append(c.verdicts, v) }
}

func (c *tally) want(t *testing.T, verdicts ...Verdict) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if fmt.Sprint(c.verdicts) != fmt.Sprint(verdicts) || c.starts != len(verdicts) {
		t.Errorf("%d starts, exits %v; want exits %v, and as many starts", c.starts, c.verdicts, verdicts)
	}
}

// TestVerdicts: each process that was started has one, and the right one.
func TestVerdicts(t *testing.T) {
	never := func(o *Options) { o.Restart = Never }
	for _, c := range []struct {
		ref    string
		change func(*Options)
		want   Verdict
	}{
		{"dies-in-setup SEGV", nil, Signaled},
		{"dies-in-setup 42", nil, Exited},
		{"dies-idle ABRT", never, Signaled},
		{"dies-idle 0", never, Exited},
		{"fails-and-lies lies", nil, FailedSetup},
		{"silent", func(o *Options) { o.SetupTimeout = 50 * time.Millisecond }, FailedSetup},
		{"lives deaf", func(o *Options) { o.HangTimeout, o.Restart = hangSoon, Never }, Hung},
		{fmt.Sprintf("says %d %d", ipc.KindHello, ipc.KindHello), nil, Protocol},
		{"closes-control ready", never, Protocol},
	} {
		t.Run(c.ref, func(t *testing.T) {
			var told tally
			act(t, c.ref, func(o *Options) {
				told.listen(o)
				if c.change != nil {
					c.change(o)
				}
			}).over()
			told.want(t, c.want)
		})
	}
}

// TestVerdictsOfALife: one is killed by somebody, the next leaves for a successor, that with the server.
func TestVerdictsOfALife(t *testing.T) {
	var told tally
	s := act(t, "lives", told.listen)
	st := s.until("ready", ready)
	if err := unix.Kill(st.PID, unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.until("another", func(now Status) bool { return ready(now) && now.PID != st.PID })
	s.Renew("as a test")
	s.until("a third", func(now Status) bool { return ready(now) && now.Restarts == 2 })
	s.Stop()
	s.over()
	told.want(t, Signaled, Left, Left)
}

// TestVerdictOfAKill: SIGKILL is judged by who sent it, and why.
func TestVerdictOfAKill(t *testing.T) {
	for _, c := range []struct {
		exit Exit
		want Verdict
	}{
		{Exit{Signal: unix.SIGKILL, Shortage: ShortageYes}, OutOfMemory},
		{Exit{Signal: unix.SIGKILL, Shortage: ShortageNo}, Killed},
		{Exit{Signal: unix.SIGKILL}, Killed},
		{Exit{Signal: unix.SIGKILL, Killed: "it hung", Fault: Hung}, Hung},
		{Exit{Signal: unix.SIGSEGV, Killed: "it hung", Fault: Hung}, Signaled}, // before it could be killed
		{Exit{Killed: "it hung", Fault: Hung, Stuck: 3 * time.Second}, Unkillable},
		{Exit{Stuck: 30 * time.Second}, Unkillable},
		{Exit{Unknown: unix.ECHILD}, Unclear},
	} {
		if got := c.exit.Verdict(); got != c.want {
			t.Errorf("%+v is judged %s, want %s", c.exit, got, c.want)
		}
	}
	for fault, want := range map[slot.Fault]Verdict{slot.FaultStubborn: Stubborn, slot.FaultProtocol: Protocol} {
		p := &process{ending: make(chan struct{}), pid: 1 << 30} // nobody's
		p.Kill(fault, "as a test")
		if p.fault != want {
			t.Errorf("fault %d is judged %s, want %s", fault, p.fault, want)
		}
	}
}
