package modelhost

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pinion/tests/assert"
)

func TestTurn_ChooseBusy(t *testing.T) {
	full := &NoRoomError{Bound: 10, Holders: []Holder{
		{Name: "new", Memory: 3, Ends: true, Used: ago(1)},
		{Name: "manual", Memory: 2, Used: ago(90)},
		{Name: "old", Memory: 4, Ends: true, Used: ago(50)},
	}}
	for _, c := range []struct {
		need    int64
		callers []string
		want    []string
		ok      bool
	}{
		{need: 4, want: []string{"old"}, ok: true},
		{need: 5, want: []string{"old"}, ok: true},
		{need: 6, want: []string{"old", "new"}, ok: true},
		{need: 9},
		{need: 4, callers: []string{"new"}, want: []string{"old"}, ok: true},
		{need: 4, callers: []string{"old"}, want: []string{"new"}, ok: true},
		{need: 4, callers: []string{"old", "new"}},
	} {
		got, ok := chooseBusy(full, c.need, c.callers)
		assert.True(t, slices.Equal(got, c.want) && ok == c.ok,
			"%d, called by %q: got %q, %v; want %q, %v", c.need, c.callers, got, ok, c.want, c.ok)
	}
}

// TestTurn_WaitInVain: a model whose prediction does not end accepts requests again once the other no longer waits.
func TestTurn_WaitInVain(t *testing.T) {
	r := newRig(t, nil)
	r.SetLimit(100)
	a, b := r.add("a", "good", needs(60, onDemand)), r.add("b", "good", needs(60, onDemand))
	a.Begin()
	b.Begin()
	p, err := r.begin(b, `{"s":"forever"}`)
	assert.NoError(t, err)
	p.Start()
	defer p.Release()
	ctx, cancel := context.WithCancel(t.Context())
	refused := make(chan error, 1)
	go func() { refused <- a.Lifecycle.LoadByRequest(ctx, nil) }()
	assert.Eventually(t, "b yields", b.Lifecycle.yielding.Load)
	assert.False(t, b.Lifecycle.TryEnter(), "got a request that enters, want that it waits")
	cancel()
	var full *NoRoomError
	if err := <-refused; !errors.As(err, &full) || len(full.Holders) != 1 || full.Holders[0].Name != "b" {
		t.Errorf("got %v, want that b has the memory", err)
	}
	err = b.Lifecycle.Enter(time.Time{}, nil)
	assert.True(t, err == nil, "a request afterwards: got %v, want that it enters", err)
	b.Lifecycle.Leave()
	err = a.Lifecycle.LoadByRequest(t.Context(), []string{"b"})
	assert.True(t, errors.As(err, &full), "called by b: got %v, want that b has the memory", err)
	p.Cancel()
	<-p.Done()
}

// TestTurn_FewClients: models with one client each, and memory for one, answer many requests for each load, although
// each is idle between them.
func TestTurn_FewClients(t *testing.T) {
	r := newRig(t, nil)
	r.SetLimit(100)
	models := []*Model{r.add("a", "good", needs(60, onDemand)), r.add("b", "good", needs(60, onDemand))}
	var answers atomic.Int64
	stop, running := make(chan struct{}), sync.WaitGroup{}
	for _, m := range models {
		m.Begin()
		running.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(10 * time.Millisecond): // the client thinks
				}
				p, err := r.begin(m, input)
				if err == nil {
					err = p.Run()
					p.Release()
				}
				if err != nil {
					t.Errorf("%s: got %v, want an answer", m.Name, err)
					return
				}
				answers.Add(1)
			}
		})
	}
	assert.Eventually(t, "each is loaded twice",
		func() bool { return t.Failed() || min(loads(models[0]), loads(models[1])) >= 2 })
	close(stop)
	running.Wait()
	swaps := loads(models[0]) + loads(models[1])
	got := answers.Load()
	assert.True(t, got >= int64(10*swaps), "got %d answers with %d loads, want 10 for each at least", got, swaps)
}

func loads(m *Model) int {
	m.Lifecycle.mu.Lock()
	defer m.Lifecycle.mu.Unlock()
	return m.Lifecycle.loads
}

// TestTurn_IdleInIt: requests for another model that can wait for the end of a turn do so, although the model is idle.
func TestTurn_IdleInIt(t *testing.T) {
	for _, c := range []struct {
		name  string
		asked bool
		load  func(ctx context.Context, l *Lifecycle) error
		waits bool
	}{
		{name: "request", asked: true, load: loadByRequest, waits: true},
		{name: "no request in it", load: loadByRequest},
		{name: "client", asked: true, load: func(ctx context.Context, l *Lifecycle) error { return l.Load(ctx, true) }},
		{name: "request with a deadline", asked: true, load: func(ctx context.Context, l *Lifecycle) error {
			ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
			defer cancel()
			return l.LoadByRequest(ctx, nil)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, nil)
			r.SetLimit(100)
			a, b := r.add("a", "good", needs(60, onDemand)), r.add("b", "good", needs(60, onDemand))
			a.Begin()
			b.Begin()
			r.ask(a, input)
			if c.asked {
				r.ask(a, input)
			}
			endTurn(a, 20*time.Second)
			loaded := make(chan error, 1)
			go func() { loaded <- c.load(t.Context(), b.Lifecycle) }()
			if c.waits {
				assert.Eventually(t, "b waits", func() bool {
					a.Lifecycle.mu.Lock()
					defer a.Lifecycle.mu.Unlock()
					return a.Lifecycle.waiters == 1
				})
				r.ask(a, input)
				endTurn(a, 0)
			}
			assert.NoError(t, <-loaded)
			r.until(a, Unloaded)
			if a.Lifecycle.mu.Lock(); !c.waits && time.Until(a.Lifecycle.turnEnds) <= 0 {
				t.Error("got a load at the end of the turn, want it at once")
			}
			a.Lifecycle.mu.Unlock()
		})
	}
}

func loadByRequest(ctx context.Context, l *Lifecycle) error { return l.LoadByRequest(ctx, nil) }

// endTurn sets the end of a model's turn to a time after now.
func endTurn(m *Model, in time.Duration) {
	m.Lifecycle.mu.Lock()
	defer m.Lifecycle.mu.Unlock()
	m.Lifecycle.turnEnds = time.Now().Add(in)
	m.Lifecycle.wake()
}
