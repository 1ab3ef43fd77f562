package supervise

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pinion/ipc"
	"pinion/tests/assert"
)

// TestLifecycle_Replacement: the worker dies in a prediction. That one fails, and those behind it are answered by the
// next worker, once each and in their order.
func TestLifecycle_Replacement(t *testing.T) {
	s := serving(t, "echoes deadly", nil)
	first := s.ask("first", `"deadly"`)
	var rest []*call
	for i := range 20 {
		rest = append(rest, s.ask(fmt.Sprint(i), strconv.Itoa(i)))
	}
	says(t, "the deadly one's end", fmt.Sprint(first.result().Err), "worker killed (SIGKILL) while running this prediction")
	for i, c := range rest {
		r := c.result()
		assert.True(t, r.Err == nil && r.Kind == ipc.KindSucceeded, "number %d ended with %+v, want Kind %v", i, r, ipc.KindSucceeded)
		assert.Equal(t, "the body", string(r.Body), fmt.Sprintf(`{"input":%d}`, i))
	}
	st := s.Status()
	says(t, "the last exit", st.LastExit, "while running this prediction")
	assert.True(t, st.Restarts == 1 && st.State == Ready && st.PID != 0, "got %+v, want Restarts 1, State %v and PID not 0", st, Ready)
	s.stop()
	want := []State{Starting, Setup, Ready, Exited, Starting, Setup, Ready, Draining, Exited}
	assert.True(t, slices.Equal(s.states, want), "it was %v, want %v", s.states, want)
}

// TestLife_FiveDeaths within a minute and without a success: no more are started.
func TestLife_FiveDeaths(t *testing.T) {
	s := act(t, "dies-idle SEGV", nil)
	st := s.end()
	assert.True(t, st.Restarts == 4 && st.Defunct && !st.SetupFailed,
		"got %+v, want Restarts 4, Defunct true and SetupFailed false", st)
	assert.EqualSlices(t, "the pauses", s.pauses, []time.Duration{0, time.Second, 2 * time.Second, 4 * time.Second})
}

// TestLife_SuccessInBetween: deaths that are apart are no reason to give up.
func TestLife_SuccessInBetween(t *testing.T) {
	s := act(t, "echoes deadly", nil)
	for i := range 8 {
		s.until("ready", func(st Status) bool { return st.Restarts == i && ready(st) })
		r := s.ask("good", `"good"`).result()
		assert.TrueNow(t, r.Err == nil, "round %d: got %v, want no error", i, r.Err)
		s.ask("deadly", `"deadly"`).result()
	}
	s.until("ready", func(st Status) bool { return st.Restarts == 8 && ready(st) })
	s.Kill()
	s.end()
	assert.EqualSlices(t, "the pauses", s.pauses, make([]time.Duration, 8))
}

// TestLifecycle_SetupThatFailsLater: a worker was good, its successors are not. That is not a SETUP_FAILED: the model
// can be set up.
func TestLifecycle_SetupThatFailsLater(t *testing.T) {
	st := act(t, "good-once 3", nil).end()
	assert.True(t, st.Defunct && !st.SetupFailed && st.Setup.Failed && st.Restarts == 4,
		"got %+v, want Defunct true, SetupFailed false, Failed true and Restarts 4", st)
	says(t, "the last exit", st.LastExit, "worker exited with code 3 during setup")
}

// TestLife_LogOfLongPrediction: the server's log has what it says while it runs, and with its name.
func TestLife_LogOfLongPrediction(t *testing.T) {
	s := serving(t, "talks", func(o *Options) { o.Policy.Restart = Never })
	c := s.ask("long", `{}`)
	assert.Eventually(t, "its line is there",
		func() bool { return slices.Contains(s.journal.lines(), "stdout long still at it") })
	select {
	case <-c.done:
		t.Error("it has ended, want it to run")
	default:
	}
	s.Kill()
	s.end()
	assert.Equal(t, "its logs", string(c.result().Logs), "still at it\n")
	assert.Equal(t, "count in the server's log", count(s.journal.lines(), "stdout long still at it"), 1)
}

func TestLife_StopAndKill(t *testing.T) {
	inSetup := func(st Status) bool { return st.State == Setup }
	between := func(st Status) bool { return st.LastExit != "" }
	for name, c := range map[string]struct {
		ref   string
		until func(Status) bool
		hold  bool
		stop  func(*stage)
	}{
		"stop, ready":           {"echoes", ready, false, func(s *stage) { s.Stop() }},
		"stop, before hello":    {"silent", func(st Status) bool { return st.PID > 0 }, false, func(s *stage) { s.Stop() }},
		"stop, in setup":        {"says 32 33", inSetup, false, func(s *stage) { s.Stop() }},
		"stop, between workers": {"dies-idle 1", between, true, func(s *stage) { s.Stop() }},
		"stop, twice":           {"echoes", ready, false, func(s *stage) { s.Stop(); s.Stop() }},
		"kill, ready":           {"echoes", ready, false, func(s *stage) { s.Kill() }},
		"kill, in setup":        {"says 32 33", inSetup, false, func(s *stage) { s.Kill() }},
		"kill, between workers": {"dies-idle 1", between, true, func(s *stage) { s.Kill() }},
		"stop, then kill":       {"says 32 33 34", ready, false, func(s *stage) { s.Stop(); s.Kill() }},
	} {
		t.Run(name, func(t *testing.T) {
			s := enact(t, c.ref, nil)
			if c.hold { // the pause before a restart does not end
				s.after = func(time.Duration) <-chan time.Time { return nil }
			}
			go s.Run()
			s.until("there", c.until)
			before := s.Status().LastExit
			c.stop(s)
			st := s.end()
			assert.True(t, st.State == Exited && !st.Defunct && st.PID == 0 && st.LastExit == before,
				"got %+v, want State %v, Defunct false, PID 0 and LastExit %q", st, Exited, before)
			assert.Equal(t, "slots", s.pool.Load().Slots, 0)
		})
	}
}

// TestLife_WorkerThatIgnoresShutdown is killed after its timeout.
func TestLife_WorkerThatIgnoresShutdown(t *testing.T) {
	s := serving(t, "says 32 33 34", func(o *Options) { o.Timeouts.Stop = 20 * time.Millisecond })
	st := s.stop()
	assert.True(t, st.LastExit == "" && !st.Defunct, "got %+v, want LastExit empty and Defunct false", st)
}

// TestLife_WorkerThatCannotStart: there is no such binary.
func TestLife_WorkerThatCannotStart(t *testing.T) {
	st := act(t, "", func(o *Options) { o.Exe = "/nonexistent/pinion" }).end()
	says(t, "the last exit", st.LastExit, "start worker process", "no such file")
	assert.True(t, st.Defunct && st.SetupFailed && st.Setup.Failed && st.Setup.Logs == st.LastExit && st.State == Exited,
		"got %+v, want Defunct true, SetupFailed true, Failed true, Logs %q and State %v", st, st.LastExit, Exited)
}

// TestLifecycle_Grandchild: the worker dies, and a process that it started lives on with all that it had: the pipes,
// the channels, the page. It must not hold up anything.
func TestLifecycle_Grandchild(t *testing.T) {
	for _, manner := range []string{"quiet", "noisy"} {
		t.Run(manner, func(t *testing.T) {
			s := serving(t, "leaves-child "+manner, func(o *Options) { o.Policy.Restart = Never })
			var pid int
			assert.Eventually(t, "the child is there", func() bool {
				for _, line := range s.journal.lines() {
					if _, err := fmt.Sscanf(line, "stdout  child %d", &pid); err == nil {
						return true
					}
				}
				return false
			})
			t.Cleanup(func() { _ = unix.Kill(-pid, unix.SIGKILL) }) // the noisy one has ended by itself
			c := s.ask("doomed", `{}`)
			st := s.end()
			says(t, "the exit", st.LastExit, "worker killed (SIGKILL) while running this prediction")
			if r := c.result(); r.Err == nil || r.Err.Error() != st.LastExit {
				t.Errorf("the prediction ended with %+v, want an error and Err %q", r, st.LastExit)
			}
			if err := unix.Kill(pid, 0); manner == "quiet" && err != nil {
				t.Errorf("the child did not outlive its parent: %v; this was not a test", err)
			}
		})
	}
}

// TestLife_LogsOfLife: what a worker writes is the setup's, a prediction's, and the server's, each whole.
func TestLife_LogsOfLife(t *testing.T) {
	s := act(t, "writes", nil)
	st := s.until("ready", ready)
	assert.Equal(t, "the setup's logs", st.Setup.Logs, "one\ntwo\nthree, \uFFFD")
	for i := range 3 {
		body := fmt.Sprintf(`{"input":%d}`, i)
		r := s.ask(fmt.Sprint("p", i), strconv.Itoa(i)).result()
		want := "half of " + body + "complaint of " + body + "\n, the other half of " + body + "\n"
		assert.NoError(t, r.Err)
		assert.Equal(t, "logs", string(r.Logs), want)
	}
	s.stop()
	lines := s.journal.lines()
	var wants []string
	wants = append(wants, "stdout  one", "stderr  two", "stdout  three, \xff\xfe")
	for i := range 3 {
		body := fmt.Sprintf(`{"input":%d}`, i)
		wants = append(wants, fmt.Sprintf("stdout p%d half of %s, the other half of %s", i, body, body),
			fmt.Sprintf("stderr p%d complaint of %s", i, body))
	}
	for _, want := range wants {
		assert.Equal(t, "the server's log has "+want+" times", count(lines, want), 1)
	}
	assert.Equal(t, "lines of the server's log", len(lines), len(wants))
	if t.Failed() {
		t.Logf("it has %q", lines)
	}
}

func count(lines []string, line string) (n int) {
	for _, l := range lines {
		if l == line {
			n++
		}
	}
	return n
}
