package supervise

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pinion/ipc"
	"pinion/runtime/slot"
	"pinion/tests/assert"
)

// deaths returns ways to end, and the words for them.
func deaths() map[string][]string {
	return map[string][]string{
		"SEGV": {"worker killed by SIGSEGV", "a memory fault in native code"},
		"BUS":  {"worker killed by SIGBUS", "a memory fault in native code"},
		"ABRT": {"worker killed by SIGABRT", "native code aborted"},
		"ILL":  {"worker killed by SIGILL", "an instruction that this CPU does not have"},
		"FPE":  {"worker killed by SIGFPE", "an arithmetic fault"},
		"TERM": {"worker killed by SIGTERM"},
		"KILL": {"worker killed (SIGKILL)", "out of memory"},
		"0":    {"worker exited with code 0", "the model's code ended the process"},
		"42":   {"worker exited with code 42", "the model's code, or a library it uses"},
	}
}

// TestExit_DeathInSetup is a failed setup, whose logs tell all.
func TestExit_DeathInSetup(t *testing.T) {
	for how, words := range deaths() {
		t.Run(how, func(t *testing.T) {
			s := act(t, "dies-in-setup "+how, nil)
			st := s.end()
			says(t, "the exit", st.LastExit, append(words, "during setup")...)
			assert.True(t, st.Defunct && st.SetupFailed && st.Setup.Failed && !st.Setup.Completed.IsZero(),
				"got %+v, want Defunct true, SetupFailed true, Failed true and Completed non-zero", st)
			assert.True(t, st.State == Exited && st.PID == 0, "got %+v, want State %v and PID 0", st, Exited)
			assert.Equal(t, "the setup's logs", st.Setup.Logs, "loading\nFatal Python error: in setup\n"+st.LastExit+"\n")
			assert.EqualSlices(t, "its states", s.states, []State{Starting, Setup, Exited})
		})
	}
}

// TestExit_DeathInPrediction fails it, with the cause and the logs.
func TestExit_DeathInPrediction(t *testing.T) {
	for how, words := range deaths() {
		t.Run(how, func(t *testing.T) {
			s := serving(t, "dies-running "+how, func(o *Options) { o.Policy.Restart = Never })
			c := s.ask("doomed", `{}`)
			s.end()
			r := c.result()
			lost, ok := errors.AsType[*slot.WorkerExitError](r.Err)
			assert.TrueNow(t, ok, "it ended with %+v", r)
			says(t, "the cause", lost.Cause, append(words, "while running this prediction")...)
			assert.Equal(t, "logs", string(r.Logs), "Fatal Python error: in predict\n")
			if st := s.Status(); st.LastExit != lost.Cause || !st.Defunct || st.SetupFailed || st.Setup.Failed {
				t.Errorf("got %+v, want LastExit %q, Defunct true, SetupFailed false and Failed false", st, lost.Cause)
			}
		})
	}
}

// TestExit_DeathBetweenPredictions fails no prediction.
func TestExit_DeathBetweenPredictions(t *testing.T) {
	for how, words := range deaths() {
		t.Run(how, func(t *testing.T) {
			s := act(t, "dies-idle "+how, func(o *Options) { o.Policy.Restart = Never })
			st := s.end()
			says(t, "the exit", st.LastExit, append(words, "between predictions")...)
			assert.True(t, st.Defunct && !st.SetupFailed && !st.Setup.Failed,
				"got %+v, want Defunct true, SetupFailed false and Failed false", st)
			assert.EqualSlices(t, "its states", s.states, []State{Starting, Setup, Ready, Exited})
		})
	}
}

// TestExit_SetupTimeout: neither a process that says nothing nor a setup without an end lasts.
func TestExit_SetupTimeout(t *testing.T) {
	for ref, state := range map[string]State{"silent": Starting, "says 32": Starting, "says 32 33": Setup} {
		t.Run(ref, func(t *testing.T) {
			s := act(t, ref, func(o *Options) { o.Timeouts.Setup = 300 * time.Millisecond })
			st := s.end()
			assert.True(t, st.LastExit == "Setup timed out after 300ms" && st.SetupFailed && st.Setup.Logs == st.LastExit+"\n",
				`got %+v, want LastExit "Setup timed out after 300ms", SetupFailed true and Logs %q`, st, st.LastExit+"\n")
			// On a busy machine it may not come as far as state.
			got := slices.Compact(slices.Clone(s.states))
			most, least := slices.Compact([]State{Starting, state, Exited}), []State{Starting, Exited}
			assert.True(t, slices.Equal(got, most) || slices.Equal(got, least), "it was %v, want %v or %v", got, most, least)
		})
	}
}

// TestExit_FramesOutOfTurn: a worker that does not keep the order is not to be trusted with predictions.
func TestExit_FramesOutOfTurn(t *testing.T) {
	kinds := func(k ...ipc.Kind) (ref string) {
		ref = "says"
		for _, kind := range k {
			ref += fmt.Sprintf(" %d", kind)
		}
		return ref
	}
	for name, ref := range map[string]string{
		"a second hello":             kinds(ipc.KindHello, ipc.KindHello),
		"loaded before hello":        kinds(ipc.KindLoaded),
		"ready before loaded":        kinds(ipc.KindHello, ipc.KindReady),
		"loaded twice":               kinds(ipc.KindHello, ipc.KindLoaded, ipc.KindLoaded),
		"a failure before hello":     kinds(ipc.KindSetupFailed),
		"a kind of a slot's channel": kinds(ipc.KindHello, ipc.KindSucceeded),
		"a kind that is not known":   kinds(ipc.KindHello, 77),
		"a kind of the front's":      kinds(ipc.KindHello, ipc.KindShutdown),
	} {
		t.Run(name, func(t *testing.T) {
			st := act(t, ref, nil).end()
			says(t, "the exit", st.LastExit, "worker killed by the server", "protocol violated: a control frame of kind")
			assert.True(t, st.SetupFailed, "got %+v, want SetupFailed true", st)
		})
	}
	t.Run("ready twice", func(t *testing.T) {
		s := act(t, kinds(ipc.KindHello, ipc.KindLoaded, ipc.KindReady, ipc.KindReady),
			func(o *Options) { o.Policy.Restart = Never })
		st := s.end()
		says(t, "the exit", st.LastExit, "worker killed by the server", "protocol violated: a control frame of kind Ready")
		assert.Equal(t, "slots", s.pool.Load().Slots, 0)
	})
	t.Run("ready after a failure", func(t *testing.T) {
		st := act(t, "fails-and-lies lies", nil).end()
		assert.True(t, st.SetupFailed && st.LastExit == "ValueError: no weights" && !st.Setup.Completed.IsZero(),
			`got %+v, want SetupFailed true, LastExit "ValueError: no weights" and Completed non-zero`, st)
	})
}

// TestExit_FailedSetupThatStays: threads that the model started may keep the process. Health must come to its end.
func TestExit_FailedSetupThatStays(t *testing.T) {
	st := act(t, "fails-and-lies", func(o *Options) { o.Timeouts.Stop = 20 * time.Millisecond }).end()
	assert.True(t, st.SetupFailed && st.Defunct && st.LastExit == "ValueError: no weights",
		`got %+v, want SetupFailed true, Defunct true and LastExit "ValueError: no weights"`, st)
}

// TestExit_ClosedChannels: a worker that lives on behind a closed channel cannot be used, nor does it say anything.
func TestExit_ClosedChannels(t *testing.T) {
	for _, when := range []string{"start", "setup", "ready"} {
		t.Run("control, at "+when, func(t *testing.T) {
			st := act(t, "closes-control "+when, func(o *Options) { o.Policy.Restart = Never }).end()
			says(t, "the exit", st.LastExit, "worker killed by the server", "closed its channel to the server and kept running")
			assert.True(t, st.SetupFailed == (when != "ready"), "got %+v, want SetupFailed %t", st, when != "ready")
		})
	}
	t.Run("a slot's", func(t *testing.T) {
		s := serving(t, "closes-slot", func(o *Options) { o.Policy.Restart = Never })
		c := s.ask("waits", `{}`)
		st := s.end()
		says(t, "the exit", st.LastExit, "worker killed by the server", "closed its channel to the server and kept running")
		// It had not begun it: the call waits for the next worker, of which there is none.
		s.pool.Cancel(c.Call)
		r := c.result()
		assert.True(t, errors.Is(r.Err, slot.ErrCanceled), "it ended with %+v, want slot.ErrCanceled", r)
	})
}

// TestExit_WorkerThatLeftItsGroup is killed all the same.
func TestExit_WorkerThatLeftItsGroup(t *testing.T) {
	s := act(t, "leaves-group", nil)
	assert.Eventually(t, "it has left", func() bool { return len(s.journal.lines()) > 0 })
	s.Kill()
	st := s.end()
	assert.Equal(t, "state", st.State, Exited)
	assert.Equal(t, "PID", st.PID, 0)
}

// TestExit_Dying: how a process on its way out ends is not this server's doing any more.
func TestExit_Dying(t *testing.T) {
	me := child{pid: os.Getpid()}
	assert.False(t, me.dying(), "this process is dying, it says")
	cmd := exec.Command("/bin/sh", "-c", "exit 3")
	assert.NoError(t, cmd.Start())
	c := child{pid: cmd.Process.Pid}
	assert.Eventually(t, "it has ended, and is not reaped", c.dying)
	err := cmd.Wait()
	assert.True(t, err != nil, "it ended well")
	assert.False(t, c.dying(), "a process that has ended is dying")
}

// TestExit_ClosedBeforeItDied: a worker that loses its channel ends itself before the server does; one that dies loses
// it too.
func TestExit_ClosedBeforeItDied(t *testing.T) {
	for _, first := range []bool{true, false} {
		t.Run(fmt.Sprint("closed first: ", first), func(t *testing.T) {
			cmd := exec.Command("/bin/sleep", "60")
			cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
			assert.NoError(t, cmd.Start())
			p := process{
				child:  child{cmd: cmd, pid: cmd.Process.Pid, exited: make(chan struct{}), cleared: make(chan struct{})},
				ending: newLatch(),
			}
			if first {
				p.Closed()
				assert.Eventually(t, "it is seen to live on", func() bool {
					p.child.mu.Lock()
					defer p.child.mu.Unlock()
					return p.closed
				})
			}
			assert.ErrorIs(t, "unix.Kill", unix.Kill(p.child.pid, unix.SIGKILL), nil)
			assert.Eventually(t, "it is dying", p.child.dying)
			if !first {
				p.Closed()
			}
			p.wait()
			want := CauseKilled
			if first {
				want = CauseProtocol
			}
			if got := p.child.exit.Cause(); got != want || (p.child.exit.Killed != "") != first {
				t.Errorf(`it is %s, by %q, want %q and p.child.exit.Killed != "" %t`, got, p.child.exit.Killed, want, first)
			}
		})
	}
}

// TestExit_UnknownEnd: another has reaped the process.
func TestExit_UnknownEnd(t *testing.T) {
	says(t, "the exit", Exit{Unknown: unix.ECHILD}.Describe(duringIdle), "worker ended between predictions",
		"no child processes")
}

// TestExit_InWords checks that each way to end says what happened, when, and why.
func TestExit_InWords(t *testing.T) {
	status := func(n int) syscall.WaitStatus { return syscall.WaitStatus(n) }
	for name, c := range map[string]struct {
		exit Exit
		want []string
	}{
		"segfault":                {exitOf(status(11|0x80), ""), []string{"SIGSEGV", "memory fault", duringPredict}},
		"abort":                   {exitOf(status(6), ""), []string{"SIGABRT", "native code aborted"}},
		"kill -9":                 {exitOf(status(9), ""), []string{"killed (SIGKILL)", "out of memory"}},
		"killed by us":            {exitOf(status(9), "it hung"), []string{"killed by the server", "it hung"}},
		"died before we did":      {exitOf(status(11), "it hung"), []string{"SIGSEGV"}},
		"exit 3":                  {exitOf(status(3<<8), ""), []string{"exited with code 3"}},
		"exit 0":                  {exitOf(status(0), ""), []string{"exited with code 0"}},
		"a signal without a name": {exitOf(status(63), ""), []string{"signal 63"}},
	} {
		t.Run(name, func(t *testing.T) {
			cause := c.exit.Describe(duringPredict)
			for _, want := range append(slices.Clone(c.want), duringPredict) {
				assert.Contains(t, "the text", cause, want)
			}
		})
	}
}
