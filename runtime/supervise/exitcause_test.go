package supervise

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pinion/ipc"
	"pinion/runtime/slot"
	"pinion/tests/assert"
)

// tally counts the starts and exits that a supervisor reports.
type tally struct {
	mu     sync.Mutex
	starts int
	causes []ExitCause
	setups int
}

func (c *tally) listen(o *Options) {
	o.Hooks.OnStart = func() { c.mu.Lock(); defer c.mu.Unlock(); c.starts++ }
	o.Hooks.OnSetup = func(st SetupStatus) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if st.Completed.After(st.Started) && !st.Started.IsZero() {
			c.setups++
		}
	}
	o.Hooks.OnExit = func(v ExitCause) { c.mu.Lock(); defer c.mu.Unlock(); c.causes = append(c.causes, v) }
}

func (c *tally) want(t *testing.T, causes ...ExitCause) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	assert.Equal(t, "causes", fmt.Sprint(c.causes), fmt.Sprint(causes))
	assert.Equal(t, "starts", c.starts, len(causes))
	assert.Equal(t, "setups", c.setups, len(causes))
}

// TestExitCauses_OnePerProcess: each process that was started has exactly one, and the right one.
func TestExitCauses_OnePerProcess(t *testing.T) {
	never := func(o *Options) { o.Policy.Restart = Never }
	for _, c := range []struct {
		ref    string
		change func(*Options)
		want   ExitCause
	}{
		{"dies-in-setup SEGV", nil, CauseSignaled},
		{"dies-in-setup 42", nil, CauseExited},
		{"dies-idle ABRT", never, CauseSignaled},
		{"dies-idle 0", never, CauseExited},
		{"fails-and-lies lies", nil, CauseSetupFailed},
		{"silent", func(o *Options) { o.Timeouts.Setup = 50 * time.Millisecond }, CauseSetupFailed},
		{"lives ignores-pings", func(o *Options) { o.Timeouts.Hang, o.Policy.Restart = hangSoon, Never }, CauseHung},
		{fmt.Sprintf("says %d %d", ipc.KindHello, ipc.KindHello), nil, CauseProtocol},
		{"closes-control ready", never, CauseProtocol},
	} {
		t.Run(c.ref, func(t *testing.T) {
			var seen tally
			act(t, c.ref, func(o *Options) {
				seen.listen(o)
				if c.change != nil {
					c.change(o)
				}
			}).end()
			seen.want(t, c.want)
		})
	}
}

// TestExitCauses_OfLife: the first is killed from outside, the next leaves for a successor, that one with the server.
func TestExitCauses_OfLife(t *testing.T) {
	var seen tally
	s := act(t, "lives", seen.listen)
	st := s.until("ready", ready)
	assert.NoError(t, unix.Kill(st.PID, unix.SIGTERM))
	s.until("another", func(now Status) bool { return ready(now) && now.PID != st.PID })
	s.Renew("as a test")
	s.until("a third", func(now Status) bool { return ready(now) && now.Restarts == 2 })
	s.stop()
	seen.want(t, CauseSignaled, CauseLeft, CauseLeft)
}

// TestExitCause_OfKill: SIGKILL is classified by who sent it, and why.
func TestExitCause_OfKill(t *testing.T) {
	for _, c := range []struct {
		exit Exit
		want ExitCause
	}{
		{Exit{Signal: unix.SIGKILL, Shortage: ShortageYes}, CauseOutOfMemory},
		{Exit{Signal: unix.SIGKILL, Shortage: ShortageNo}, CauseKilled},
		{Exit{Signal: unix.SIGKILL}, CauseKilled},
		{Exit{Signal: unix.SIGKILL, Killed: "it hung", Fault: CauseHung}, CauseHung},
		{Exit{Signal: unix.SIGSEGV, Killed: "it hung", Fault: CauseHung}, CauseSignaled}, // before it could be killed
		{Exit{Killed: "it hung", Fault: CauseHung, Stuck: 3 * time.Second}, CauseUnkillable},
		{Exit{Stuck: 30 * time.Second}, CauseUnkillable},
		{Exit{Unknown: unix.ECHILD}, CauseUnknown},
	} {
		assert.Equal(t, fmt.Sprintf("%+v", c.exit), c.exit.Cause(), c.want)
	}
	for fault, want := range map[slot.Fault]ExitCause{
		slot.FaultCancelTimeout: CauseCancelTimeout,
		slot.FaultProtocol:      CauseProtocol,
	} {
		p := &process{ending: newLatch(), child: child{pid: 1 << 30}} // no such process
		p.Kill(fault, "as a test")
		assert.Equal(t, fmt.Sprintf("fault %d", fault), p.fault, want)
	}
}
