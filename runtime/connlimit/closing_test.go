package connlimit

import (
	"testing"
	"testing/synctest"
	"time"

	"pinion/tests/assert"
)

// TestLimit_WaitsForThoseThatAreClosing: each still has a descriptor. One that is not closed in time is given up.
func TestLimit_WaitsForThoseThatAreClosing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most, extra = 8 * minClosing, 4 * minClosing
		l, cs := New(most), clients{}
		l.Add(cs.idle)
		for range most {
			cs.enter(l, false)
			cs[len(cs)-1].closes = true
		}
		entered := make(chan bool, extra)
		go func() {
			for range extra {
				entered <- cs.enter(l, true)
			}
		}()
		synctest.Wait()
		bound := minClosing + most/evictShare // those of one search are closed together
		waiting := len(entered)
		closing := l.closing
		assert.TrueNow(t, closing >= minClosing && closing < bound && waiting < extra,
			"got %d closing and %d new ones, want %d to %d closing, and the next to wait", closing, waiting, minClosing, bound-1)
		for closed := 0; closed < 2; closed++ {
			cs[closed].Leave()
		}
		synctest.Wait()
		if got := len(entered); got <= waiting || got >= extra {
			t.Errorf("got %d new ones when two are closed, want more than %d, and the next to wait", got, waiting)
		}
		time.Sleep(extra * closingWait)
		synctest.Wait()
		assert.Equal(t, "new ones", len(entered), extra)
		for _, c := range cs {
			c.Leave()
		}
		s := l.Stats()
		assert.True(t, s.Open == 0 && l.closing == 0, "got %d open and %d closing at the end, want none", s.Open, l.closing)
	})
}

// TestPlace_ClosingAndLeave in either order give the place back once.
func TestPlace_ClosingAndLeave(t *testing.T) {
	l := New(2)
	var before, after, other Place
	for _, p := range []*Place{&before, &after} {
		assert.TrueNow(t, l.Enter(p), "got a connection refused, want it taken")
	}
	before.Closing()
	got := l.Stats().Open
	assert.True(t, got == 1 && l.closing == 1, "got %d open and %d closing, want 1 and 1", got, l.closing)
	assert.True(t, !before.Leave() && after.Leave(),
		"got the place of a closing connection given back twice, or that of another not at all")
	after.Closing()
	other.Closing()
	got = l.Stats().Open
	assert.True(t, got == 0 && l.closing == 0, "got %d open and %d closing at the end, want none", got, l.closing)
}
