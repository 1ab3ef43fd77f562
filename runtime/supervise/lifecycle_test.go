package supervise

import (
	"bytes"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"pinion/ipc"
	"pinion/tests/assert"
)

// generation asks a worker for its number.
func (s *stage) generation(name string) string {
	s.t.Helper()
	r := s.ask(name, `"which"`).result()
	assert.TrueNow(s.t, r.Err == nil && r.Kind == ipc.KindSucceeded, "%s ended with %+v, want Kind %v", name, r, ipc.KindSucceeded)
	_, rest, _ := bytes.Cut(r.Body, []byte(`"output":"`))
	return string(bytes.TrimSuffix(rest, []byte(`"}`)))
}

// settled returns a worker that was renewed so often, and is alone.
func settled(restarts int) func(Status) bool {
	return func(st Status) bool { return ready(st) && st.Restarts == restarts && st.Successor == nil }
}

// TestLifecycle_Renew: the new process takes over, and not one of those who ask all the time is refused or fails.
func TestLifecycle_Renew(t *testing.T) {
	s := serving(t, "lives", nil)
	var stop atomic.Bool
	const clients = 8
	done := make(chan struct{})
	for i := range clients {
		go func() {
			defer func() { done <- struct{}{} }()
			for n := 0; !stop.Load(); n++ {
				if r := s.ask(fmt.Sprintf("%d-%d", i, n), `"again"`).result(); r.Err != nil || r.Kind != ipc.KindSucceeded {
					t.Errorf("%d-%d ended with %+v, want Kind %v", i, n, r, ipc.KindSucceeded)
					return
				}
			}
		}()
	}
	for n := range 3 {
		s.Renew("the test wants it")
		s.until("renewed", settled(n+1))
	}
	stop.Store(true)
	for range clients {
		<-done
	}
	assert.Equal(t, "generation", s.generation("last"), "4")
	st := s.Status()
	assert.True(t, st.LastExit == "" && !st.Defunct, "got %+v, want LastExit empty and Defunct false", st)
	s.stop()
	assert.Equal(t, fmt.Sprintf("there were pauses: %v", s.pauses), len(s.pauses), 0)
}

// TestLifecycle_RenewedIsAlone: by the time that a new worker is shown, the old one has left the pool.
func TestLifecycle_RenewedIsAlone(t *testing.T) {
	var s *stage
	var slots atomic.Int64 // when it was shown first
	s = enact(t, "lives", func(o *Options) {
		changed := o.Hooks.OnChange
		o.Hooks.OnChange = func() {
			if s.Status().Restarts == 1 {
				slots.CompareAndSwap(0, int64(s.pool.Load().Slots))
			}
			changed()
		}
	})
	go s.Run()
	s.until("ready", ready)
	s.Renew("the test wants it")
	s.until("renewed", settled(1))
	assert.Equal(t, "workers in the pool with the new one", slots.Load(), 1)
}

// TestLifecycle_RenewStopFirst: the old process is gone before the new one is started.
func TestLifecycle_RenewStopFirst(t *testing.T) {
	s := serving(t, "lives", func(o *Options) { o.Policy.Renewal = StopFirst })
	s.Renew("the test wants it")
	s.until("renewed", settled(1))
	assert.Equal(t, "generation", s.generation("last"), "2")
	s.stop()
	want := []State{Starting, Setup, Ready, Draining, Exited, Starting, Setup, Ready, Draining, Exited}
	assert.Equal(t, "its states", fmt.Sprint(s.states), fmt.Sprint(want))
}

// TestLifecycle_SuccessorThatFails: the old process stays, and another is tried.
func TestLifecycle_SuccessorThatFails(t *testing.T) {
	s := serving(t, "lives fails=2 fails=3", nil)
	s.Renew("the test wants it")
	s.until("renewed", settled(1))
	assert.Equal(t, "generation", s.generation("last"), "4")
	s.stop()
	assert.Equal(t, fmt.Sprintf("the %v", s.pauses),
		fmt.Sprint(s.pauses), fmt.Sprint([]time.Duration{time.Second, time.Second}))
}

// TestLifecycle_RenewalTakesTurns: of two workers of a fleet one is renewed at a time.
func TestLifecycle_RenewalTakesTurns(t *testing.T) {
	for _, order := range []Renewal{StartFirst, StopFirst} {
		fleet := NewFleet(nil)
		first := act(t, "lives", func(o *Options) { o.Fleet, o.Policy.Renewal = fleet, order })
		second := act(t, "lives", func(o *Options) { o.Fleet, o.Policy.Renewal = fleet, order })
		first.until("ready", ready)
		second.until("ready", ready)
		fleet.turn <- struct{}{} // of another supervisor
		first.Renew("turn")
		second.Renew("turn")
		if a, b := first.Status(), second.Status(); a.Successor != nil || b.Successor != nil || !ready(a) || !ready(b) {
			t.Errorf("renewed out of turn: %+v, %+v, want a.Successor nil, b.Successor nil, ready(a) true and ready(b) true", a,
				b)
		}
		<-fleet.turn
		first.until("renewed", settled(1))
		second.until("renewed", settled(1))
		first.Stop()
		second.Stop()
		first.end()
		second.end()
		assert.Equal(t, "workers that kept the turn", len(fleet.turn), 0)
	}
}

// TestLifecycle_MaxRequests: a worker is renewed after that many.
func TestLifecycle_MaxRequests(t *testing.T) {
	s := serving(t, "lives", func(o *Options) { o.Policy.MaxRequests = 5 })
	for i := range 12 {
		s.generation(fmt.Sprint(i))
		s.until("renewed where it is time", func(st Status) bool { return settled((i + 1) / 5)(st) })
	}
	assert.Equal(t, "generation", s.generation("last"), "3")
}

// TestLifecycle_MaxMemory: a worker that has too much is renewed, and the others are not.
func TestLifecycle_MaxMemory(t *testing.T) {
	s := enact(t, "lives", func(o *Options) { o.Policy.MaxMemory = 120 << 20 })
	s.memoryInterval = time.Millisecond
	go s.Run()
	s.until("ready", ready)
	s.generation("small")
	s.ask("large", `"grow"`).result()
	s.until("renewed", settled(1))
	assert.Equal(t, "generation", s.generation("last"), "2")
}

// TestLifecycle_Reset: the next process is another.
func TestLifecycle_Reset(t *testing.T) {
	s := serving(t, "lives", nil)
	spec := s.o.Spec
	spec.Ref = "echoes"
	s.Reset(spec, WorkerEnv(nil))
	s.Renew("it has changed")
	s.until("renewed", settled(1))
	assert.Equal(t, "the answer", string(s.ask("a", `"a"`).result().Body), `{"input":"a"}`)
}

// TestLifecycle_Prepare is asked before each start, and may say no.
func TestLifecycle_Prepare(t *testing.T) {
	var starts atomic.Int64
	s := act(t, "dies-idle KILL", func(o *Options) {
		o.Hooks.Prepare = func(spec *ipc.WorkerConfig) error {
			if starts.Add(1) == 3 {
				return fmt.Errorf("no room on the disk")
			}
			if starts.Load() == 4 {
				spec.Ref = "lives"
			}
			return nil
		}
	})
	st := s.until("the fourth", func(st Status) bool { return ready(st) && st.Restarts == 3 })
	says(t, "the last exit", st.LastExit, "no room on the disk")
	s.generation("a")
}

// TestLifecycle_DeathBesideSuccessor: the process dies while the one that is to follow it comes up.
func TestLifecycle_DeathBesideSuccessor(t *testing.T) {
	s := serving(t, "echoes deadly", func(o *Options) { o.Timeouts.Hang = 0 })
	spec := s.o.Spec
	spec.Ref = "silent" // never ready
	s.Reset(spec, WorkerEnv(nil))
	s.Renew("the test wants it")
	s.until("its successor comes up", func(st Status) bool { return st.Successor != nil })
	c := s.ask("deadly", `"deadly"`)
	r := c.result()
	assert.True(t, r.Err != nil, "it ended with %+v", r)
	s.until("the successor is the worker",
		func(st Status) bool { return st.Restarts == 1 && st.Successor == nil && st.State == Starting })
	s.Kill()
	s.end()
}

// TestLifecycle_LostGPU: a worker that says so is replaced after its answer, which counts as a death.
func TestLifecycle_LostGPU(t *testing.T) {
	s := serving(t, "lives", nil)
	s.generation("good")
	r := s.ask("bad", `"illegal"`).result()
	assert.True(t, r.Kind == ipc.KindFailed && r.Err == nil, "it ended with %+v, want Kind %v", r, ipc.KindFailed)
	st := s.until("another", settled(1))
	says(t, "the last exit", st.LastExit, "GPU context is lost", "an illegal memory access was encountered")
	assert.Equal(t, "generation", s.generation("next"), "2")
	s.stop()
	assert.Equal(t, fmt.Sprintf("the %v", s.pauses), fmt.Sprint(s.pauses), fmt.Sprint([]time.Duration{0}))
}
