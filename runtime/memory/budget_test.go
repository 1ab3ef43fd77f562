package memory

import (
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pinion/tests/assert"
)

const mib = 1 << 20

func TestBudget_Marks(t *testing.T) {
	b := New(16 * mib)
	var large, small Charge
	large.Open(b)
	small.Open(b)
	assert.False(t, large.Grow(14*mib+1), "Grow beyond seven eighths")
	if !large.Grow(14*mib) || small.Grow(Small+1) || !small.Grow(Small) {
		t.Errorf("got %d and %d bytes charged, want 14 MiB, and the rest for small ones alone", large.Bytes(), small.Bytes())
	}
	if s := b.Stats(); s.Used != 14*mib+Small || s.Limit != 16*mib || s.Refusals != 2 {
		t.Errorf("%+v, want Used %d, Limit %d and Refusals 2", s, 14*mib+Small, 16*mib)
	}
	large.Release()
	small.Release()
	assert.Equal(t, "bytes", b.Stats().Used, 0)
	assert.Equal(t, "limit", New(1).Stats().Limit, MinBudget)
}

// TestBudget_BodiesWait for room, in their order, and not forever.
func TestBudget_BodiesWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(16 * mib)
		assert.ErrorIs(t, "b.Wait(14*mib+1, time.Hour, nil)", b.Wait(14*mib+1, time.Hour, nil), ErrTooLarge)
		if err := b.Wait(12*mib, time.Hour, nil); err != nil { // alone it may have more than a half
			t.Fatal(err)
		}
		began := time.Now()
		if err := b.Wait(mib, time.Second, nil); !errors.Is(err, ErrFull) || time.Since(began) != time.Second {
			t.Errorf("%v after %v, want ErrFull and %v", err, time.Since(began), time.Second)
		}
		if err := b.Wait(Small, time.Hour, nil); err != nil { // small ones go on meanwhile
			t.Error(err)
		}
		b.Free(Small)
		order := make(chan int, 3)
		for i := range 3 {
			go func() {
				assert.ErrorIs(t, "b.Wait", b.Wait(5*mib, time.Hour, nil), nil)
				order <- i
			}()
			synctest.Wait()
		}
		stop := make(chan struct{})
		stopped := make(chan error)
		go func() { stopped <- b.Wait(mib, time.Hour, stop) }()
		synctest.Wait()
		close(stop)
		assert.ErrorIs(t, "stopped", <-stopped, ErrFull)
		b.Free(12 * mib)
		synctest.Wait()
		assert.EqualNow(t, "served", len(order), 1)
		assert.Equal(t, "served", <-order, 0)
		b.Free(5 * mib)
		synctest.Wait()
		b.Free(5 * mib)
		if second, third := <-order, <-order; second != 1 || third != 2 {
			t.Errorf("got %d and %d served next, want 1 and 2", second, third)
		}
		b.Free(5 * mib)
		s := b.Stats()
		assert.True(t, s.Used == 0 && b.waiting.Load() == 0, "%+v, %d wait, want Used 0 and waiting 0", s, b.waiting.Load())
	})
}

// TestBudget_Evicts: what is retained is evicted if that makes room, and stays if it does not.
func TestBudget_Evicts(t *testing.T) {
	b := New(16 * mib)
	retained := make([]Charge, 8)
	next := 0
	b.SetEvict(func(bytes int64) bool {
		if int64(len(retained)-next)*mib < bytes {
			return false
		}
		for bytes > 0 {
			bytes -= retained[next].Release()
			next++
		}
		return true
	})
	for i := range retained {
		retained[i].Open(b)
		assert.TrueNow(t, retained[i].Grow(mib), "Grow: got false, want true")
	}
	retained[0].Hold() // an answer is made of it
	assert.True(t, !b.Take(15*mib, 15*mib) && next == 0,
		"%d were evicted for nothing, want b.Take(15*mib, 15*mib) false and next 0", next)
	if !b.Take(8*mib, 8*mib) || next != 3 { // the first frees nothing
		t.Errorf("%d were evicted for 2 MiB, want b.Take(8*mib, 8*mib) true and next 3", next)
	}
	retained[0].Release()
	retained[0].Hold() // found before it was evicted
	assert.Equal(t, "bytes used", b.Stats().Used, 14*mib)
	retained[0].Resize(mib / 2)
	retained[0].Release()
	assert.Equal(t, "bytes used", b.Stats().Used, 13*mib)
}

// TestBudget_NeverAbove checks that no number of goroutines gets past the limit, and that all comes back.
func TestBudget_NeverAbove(t *testing.T) {
	const limit = MinBudget
	b := New(limit)
	var wg sync.WaitGroup
	for seed := range uint64(8) {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(seed, 1))
			for range 2000 {
				n := random.Int64N(6 * mib)
				if seed%2 == 0 {
					if b.Wait(n, time.Minute, nil) != nil {
						t.Error("got no room within a minute, want it")
						return
					}
				} else if !b.Take(n, n) {
					continue
				}
				used := b.Stats().Used
				assert.True(t, used <= limit, "%d bytes are used, want at most %d", used, limit)
				b.Free(n)
			}
		})
	}
	wg.Wait()
	assert.Equal(t, "bytes", b.Stats().Used, 0)
}

// TestBudget_NoBudget: without one everything fits.
func TestBudget_NoBudget(t *testing.T) {
	var b *Budget
	var c Charge
	c.Open(b)
	if err := b.Wait(1<<50, 0, nil); err != nil || !b.Take(1<<50, 1<<50) || !c.Grow(1<<50) || c.Bytes() != 1<<50 {
		t.Errorf("got %v and %d bytes charged, want no limit", err, c.Bytes())
	}
	b.Free(1 << 50)
	c.Resize(1)
	c.Hold()
	if first, second := c.Release(), c.Release(); first != 0 || second != 1 {
		t.Errorf("Release: got %d and %d bytes, want 0 and 1", first, second)
	}
	assert.True(t, b.Stats() == (Stats{}), "%+v, want %+v", b.Stats(), Stats{})
}
