package predict

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pinion/tests/assert"
)

func TestRegistry_RetainsEnded(t *testing.T) {
	r := NewRegistry(Retention{})
	a, b, again := New("a", &Request{}, epoch, nil, Options{}), New("b", &Request{}, epoch, nil, Options{}),
		New("a", &Request{}, epoch, nil, Options{})
	for _, p := range []*Prediction{a, b} {
		assert.NoError(t, r.Add(p))
	}
	assert.ErrorIs(t, "a second one of that id", r.Add(again), ErrInFlight)
	for id, want := range map[string]*Prediction{"a": a, "b": b, "c": nil} {
		assert.Equal(t, id, r.Get(KindPrediction, id), want)
	}
	assert.Equal(t, "length", r.Len(), 2)
	registered := r.All()
	assert.True(t, len(registered) == 2 && slices.Contains(registered, a) && slices.Contains(registered, b),
		"all: %v, want len(all) 2 and all with %+v and with %+v", registered, a, b)
	r.Remove(a)
	r.Remove(a)
	assert.True(t, r.Get(KindPrediction, "a") == nil && r.Len() == 1 && len(registered) == 2,
		"it holds %d after one was removed, want Get nil, Len 1 and len(all) 2", r.Len())
	assert.NoError(t, r.Add(again), "its id is free")
}

// TestRegistry_InFlight has those that were created first, the oldest first.
func TestRegistry_InFlight(t *testing.T) {
	r := NewRegistry(Retention{})
	for _, i := range []int{3, 0, 4, 1, 2} {
		p := New(fmt.Sprint(i), &Request{}, epoch.Add(time.Duration(i)*time.Second), nil, Options{})
		assert.NoError(t, r.Add(p))
	}
	for n, want := range map[int]string{0: "", 3: "012", 9: "01234"} {
		got := ""
		for _, p := range r.InFlight(n) {
			got += p.ID()
		}
		assert.Equal(t, fmt.Sprintf("of %d", n), got, want)
	}
}

// TestRegistry_OfOneID: of many that come at once, one gets in at a time.
func TestRegistry_OfOneID(t *testing.T) {
	r := NewRegistry(Retention{})
	var wg sync.WaitGroup
	var inside, got atomic.Int64
	for range 16 {
		wg.Go(func() {
			for range 500 {
				p := New("a", &Request{}, epoch, nil, Options{})
				if r.Add(p) != nil {
					continue
				}
				assert.Equal(t, "calls inside", inside.Add(1), 1)
				got.Add(1)
				runtime.Gosched()
				inside.Add(-1)
				r.Remove(p)
			}
		})
	}
	wg.Wait()
	assert.True(t, got.Load() != 0 && r.Len() == 0, "%d got in, %d are left, want not 0 and 0", got.Load(), r.Len())
}

func TestRegistry_OfMany(t *testing.T) {
	r := NewRegistry(Retention{})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 200 {
				p := New(fmt.Sprint(i, "/", n), &Request{}, epoch, nil, Options{})
				assert.ErrorIs(t, "r.Add", r.Add(p), nil)
				assert.Equal(t, fmt.Sprintf("%s is not found", p.ID()), r.Get(KindPrediction, p.ID()), p)
				if n%2 == 0 {
					r.Remove(p)
				}
			}
		})
	}
	wg.Wait()
	assert.Equal(t, "length", r.Len(), 800)
	assert.Equal(t, "number of predictions", len(r.All()), 800)
}
