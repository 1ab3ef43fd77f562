package modelhost

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"pinion/tests/await"
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
		if !slices.Equal(got, c.want) || ok != c.ok {
			t.Errorf("%d, called by %q: got %q, %v; want %q, %v", c.need, c.callers, got, ok, c.want, c.ok)
		}
	}
}

// TestTurn_WaitInVain: a model that does not end what it runs takes requests again once the other waits no more.
func TestTurn_WaitInVain(t *testing.T) {
	r := newRig(t, nil)
	r.SetLimit(100)
	a, b := r.add("a", "good", needs(60, onDemand)), r.add("b", "good", needs(60, onDemand))
	a.Begin()
	b.Begin()
	p, err := r.begin(b, `{"s":"forever"}`)
	if err != nil {
		t.Fatal(err)
	}
	p.Start()
	defer p.Release()
	ctx, cancel := context.WithCancel(t.Context())
	refused := make(chan error, 1)
	go func() { refused <- a.Lifecycle.LoadByRequest(ctx, nil) }()
	await.Eventually(t, "b gives way", b.Lifecycle.givesWay.Load)
	if b.Lifecycle.TryEnter() {
		t.Error("got a request that enters, want that it waits")
	}
	cancel()
	var full *NoRoomError
	if err := <-refused; !errors.As(err, &full) || len(full.Holders) != 1 || full.Holders[0].Name != "b" {
		t.Errorf("got %v, want that b has the memory", err)
	}
	if err := b.Lifecycle.Enter(time.Time{}, nil); err != nil {
		t.Errorf("a request afterwards: got %v, want that it enters", err)
	}
	b.Lifecycle.Leave()
	if err := a.Lifecycle.LoadByRequest(t.Context(), []string{"b"}); !errors.As(err, &full) {
		t.Errorf("called by b: got %v, want that b has the memory", err)
	}
	p.Cancel()
	<-p.Done()
}
