package supervise

import (
	"testing"
	"time"

	"pinion/tests/assert"
)

// TestFleet_SetupThatFailsSometimes: where another worker's setup went well, the model is not to blame.
func TestFleet_SetupThatFailsSometimes(t *testing.T) {
	fleet := NewFleet(nil)
	bad := act(t, "lives fails=1", func(o *Options) { o.Fleet, o.Policy.Linger = fleet, true })
	st := bad.until("defunct", defunct)
	assert.True(t, st.SetupFailed, "got %+v, want SetupFailed true", st)
	good := act(t, "lives", func(o *Options) { o.Fleet = fleet })
	good.until("ready", ready)
	st = bad.until("ready after all", ready)
	assert.True(t, !st.Defunct && !st.SetupFailed && st.Restarts == 1,
		"got %+v, want Defunct false, SetupFailed false and Restarts 1", st)
	// One that comes later does not even wait.
	late := act(t, "lives fails=1", func(o *Options) { o.Fleet = fleet })
	late.until("ready", ready)
	for _, s := range []*stage{bad, good, late} {
		s.stop()
	}
}

// TestFleet_SetupRetries: a model is given that many more chances.
func TestFleet_SetupRetries(t *testing.T) {
	s := act(t, "lives fails=1 fails=2", func(o *Options) { o.Policy.SetupRetries = 2 })
	st := s.until("ready", ready)
	assert.True(t, st.Restarts == 2 && !st.Defunct, "got %+v, want Restarts 2 and Defunct false", st)
	s.stop()

	s = act(t, "lives fails=1 fails=2 fails=3", func(o *Options) { o.Policy.SetupRetries = 2 })
	st = s.end()
	assert.True(t, st.SetupFailed && st.Restarts == 2, "got %+v, want SetupFailed true and Restarts 2", st)
}

// TestFleet_Linger: a server whose model could not be set up serves once that is repaired.
func TestFleet_Linger(t *testing.T) {
	for _, restart := range []Restart{OnCrash, Never} {
		s := act(t, "lives fails=1", func(o *Options) { o.Policy.Linger, o.Policy.Restart = true, restart })
		s.until("defunct", defunct)
		s.Renew("it is repaired")
		st := s.until("ready", ready)
		assert.True(t, !st.Defunct && !st.SetupFailed && !st.Setup.Failed,
			"got %+v, want Defunct false, SetupFailed false and Failed false", st)
		s.stop()
	}
}

// TestFleet_LingerEnds with Stop or Kill.
func TestFleet_LingerEnds(t *testing.T) {
	for _, end := range []func(*stage){func(s *stage) { s.Stop() }, func(s *stage) { s.Kill() }} {
		s := act(t, "lives fails=1", func(o *Options) { o.Policy.Linger = true })
		s.until("defunct", defunct)
		select {
		case <-s.Done():
			t.Error("it has ended, want it to linger")
		case <-time.After(0):
		}
		end(s)
		s.end()
	}
}
