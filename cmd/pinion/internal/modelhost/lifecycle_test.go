package modelhost

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pinion/cmd/pinion/internal/config"
	"pinion/runtime/predict"
	"pinion/tests/assert"
)

const input = `{"s":"x"}`

func TestModel_LoadedAtTheStart(t *testing.T) {
	r := newRig(t, nil)
	m := r.add("a", "good", nil)
	m.Begin()
	if !m.Lifecycle.FirstLoadPending() {
		state, _ := m.Lifecycle.State()
		assert.True(t, state == Ready, "got %s and no first load pending, want one", state)
	}
	r.until(m, Ready)
	assert.False(t, m.Lifecycle.FirstLoadPending(),
		"a first load pending of a model that is ready")
	assert.Equal(t, "status of the prediction", r.ask(m, input), predict.Succeeded)
	assert.True(t, len(m.Workers()) == 1 && m.Workers()[0].Status().PID != 0,
		"got the workers %v, want one with a process", m.Workers())
}

func TestModel_RequestLoads(t *testing.T) {
	r := newRig(t, nil)
	m := r.add("a", "good", onDemand)
	m.Begin()
	if state, _ := m.Lifecycle.State(); state != Unloaded || !m.Lifecycle.AcceptsOnDemand() {
		t.Fatalf("got %s, accepts %t; want %s, true", state, m.Lifecycle.AcceptsOnDemand(), Unloaded)
	}
	assert.Equal(t, "status of the prediction", r.ask(m, input), predict.Succeeded)
	r.until(m, Ready)
	assert.NoError(t, m.Lifecycle.Unload(t.Context(), false))
	assert.Equal(t, "workers of an unloaded model", len(m.Workers()), 0)
	assert.Equal(t, "an unload", r.ask(m, input), predict.Succeeded)
}

// refused returns the reason of a *predict.NotReadyError, or "".
func refused(err error) string {
	var notReady *predict.NotReadyError
	if errors.As(err, &notReady) {
		return notReady.Reason
	}
	return ""
}

func TestModel_ManualOneIsLoadedByAClient(t *testing.T) {
	r := newRig(t, func(o *Options) { o.Config.Exposure.AllowModelControl = true })
	m := r.add("a/b", "good", manual)
	m.Begin()
	const want = "Model a/b is not loaded: POST /models/a%2Fb/load loads it"
	_, err := r.begin(m, input)
	assert.True(t, refused(err) == want, "got %v, want %q", err, want)
	assert.NoError(t, m.Lifecycle.Load(t.Context(), true))
	assert.Equal(t, "status of the prediction", r.ask(m, input), predict.Succeeded)
}

// TestModel_UnloadedByAClient: no request loads it again.
func TestModel_UnloadedByAClient(t *testing.T) {
	r := newRig(t, nil)
	m := r.add("a", "good", onDemand)
	m.Begin()
	r.ask(m, input)
	assert.NoError(t, m.Lifecycle.Unload(t.Context(), true))
	if _, err := r.begin(m, input); refused(err) != "Model a is not loaded" || m.Lifecycle.AcceptsOnDemand() {
		t.Errorf("got %v, accepts %t; want a refusal", err, m.Lifecycle.AcceptsOnDemand())
	}
	assert.NoError(t, m.Lifecycle.Load(t.Context(), true))
	r.ask(m, input)
}

func TestModel_SetupFails(t *testing.T) {
	r := newRig(t, nil)
	m := r.add("a", "fails", onDemand)
	m.Begin()
	_, err := r.begin(m, input)
	assert.TrueNow(t, strings.Contains(refused(err), "Model a could not be loaded: "), "got %v, want that it could not be loaded", err)
	state, reason := m.Lifecycle.State()
	assert.True(t, state == Failed && reason != "" && m.Failure().What == reason,
		"got %s, %q and the failure %q; want %s and one reason", state, reason, m.Failure().What, Failed)
	err = m.Lifecycle.Load(t.Context(), false)
	assert.True(t, err != nil, "got no error of a load that is not tried again, want one")
	before := m.Workers()[0]
	err = m.Lifecycle.Load(t.Context(), true)
	assert.True(t, err != nil, "got no error of a second try, want one")
	assert.True(t, m.Workers()[0] != before, "got the workers of the first try, want others")
}

func TestModel_RequestGivesUpWaitingForALoad(t *testing.T) {
	r := newRig(t, nil)
	m := r.add("a", "hangs", onDemand)
	m.Begin()
	err := m.Lifecycle.Enter(time.Now().Add(50*time.Millisecond), nil)
	assert.Equal(t, fmt.Sprintf("%v", err), refused(err), "Model a is still being loaded")
	r.until(m, Loading) // it goes on
	err = m.Lifecycle.Unload(t.Context(), false)
	assert.True(t, err == nil, "unload while it is loading: got %v, want no error", err)
}

func TestModel_IdleOneIsUnloaded(t *testing.T) {
	r := newRig(t, nil)
	m := r.add("a", "good", func(s *config.Model) {
		onDemand(s)
		s.Loading.IdleTimeout = 20 * time.Millisecond
	})
	m.Begin()
	r.ask(m, input)
	r.until(m, Unloaded)
	assert.Equal(t, "idle", r.ask(m, input), predict.Succeeded)
}

// TestModel_UnloadWaitsForPredictions for the grace: then they are canceled.
func TestModel_UnloadWaitsForPredictions(t *testing.T) {
	r := newRig(t, func(o *Options) { o.Config.Grace = 50 * time.Millisecond })
	m := r.add("a", "good", nil)
	m.Begin()
	r.until(m, Ready)
	p := assert.Must(r.begin(m, `{"s":"forever"}`))(t)
	p.Start()
	defer p.Release()
	assert.Eventually(t, "it runs", func() bool { return m.Workers()[0].Health().Busy == 1 })
	assert.NoError(t, m.Lifecycle.Unload(t.Context(), false))
	assert.Equal(t, "status", p.Record().Status, predict.Canceled)
}

func TestModel_ClosedOneIsNotLoaded(t *testing.T) {
	r := newRig(t, nil)
	m := r.add("a", "good", onDemand)
	m.Begin()
	m.Lifecycle.Close()
	assert.ErrorIs(t, "Load", m.Lifecycle.Load(t.Context(), true), ErrClosed)
	assert.ErrorIs(t, "Unload", m.Lifecycle.Unload(t.Context(), true), ErrClosed)
	assert.Equal(t, "workers", len(m.Workers()), 0)
}

func TestModel_ReloadReplacesItsWorkers(t *testing.T) {
	asked := 0
	r := newRig(t, func(o *Options) { o.Reload = func() { asked++ } })
	m := r.add("a", "good", nil)
	m.Begin()
	r.until(m, Ready)
	before := m.Workers()[0].Status().PID
	_, err := m.Reload("a test")
	assert.TrueNow(t, err == nil && asked == 1, "got %v, and %d calls of Options.Reload; want 1", err, asked)
	assert.Eventually(t, "another process", func() bool {
		st := m.Workers()[0].Status()
		return st.PID != 0 && st.PID != before && m.Service.Ready() == nil
	})
	r.ask(m, input)
}

// TestHost_MakesRoom: the least recently used idle model is evicted, and none that runs predictions.
func TestHost_MakesRoom(t *testing.T) {
	r := newRig(t, nil)
	r.SetLimit(100)
	a, b := r.add("a", "good", needs(60, manual)), r.add("b", "good", needs(60, manual))
	load := func(m *Model) error { return m.Lifecycle.Load(t.Context(), true) }
	for _, m := range []*Model{a, b} {
		m.Begin()
		assert.NoError(t, load(m))
	}
	r.until(a, Unloaded)
	p := assert.Must(r.begin(b, `{"s":"forever"}`))(t)
	p.Start()
	defer p.Release()
	assert.Eventually(t, "b works", func() bool { return b.Workers()[0].Health().Busy == 1 })
	var full *NoRoomError
	if err := load(a); !errors.As(err, &full) || len(full.Holders) != 1 || full.Holders[0].Name != "b" {
		t.Errorf("got %v, want that b has the memory", err)
	}
	p.Cancel()
	<-p.Done()
	assert.Eventually(t, "a is loaded", func() bool { return load(a) == nil })
	r.until(b, Unloaded)
}

// TestHost_OneModelAtATime waits for the room that is being made for another.
func TestHost_OneModelAtATime(t *testing.T) {
	r := newRig(t, nil)
	m := r.add("a", "good", manual)
	m.Begin()
	r.evicting <- struct{}{}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	assert.ErrorIs(t, "m.Lifecycle.Load(ctx, true)", m.Lifecycle.Load(ctx, true), context.DeadlineExceeded)
	<-r.evicting
	err := m.Lifecycle.Load(t.Context(), true)
	assert.True(t, err == nil, "once there is room: got %v, want no error", err)
}
