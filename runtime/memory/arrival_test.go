package memory

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"pinion/tests/assert"
)

// hold charges an arrival of a test, and counts how often it is cut; that gives its memory back.
func hold(t *testing.T, b *Budget, held, rest int64) (a *Arrival, cuts *int) {
	t.Helper()
	a, cuts = new(Arrival), new(int)
	assert.TrueNow(t, b.Take(held, Small), "no room for %d bytes, want b.Take(held, Small) true", held)
	b.Begin(a, func() {
		*cuts++
		b.Free(held)
	})
	a.Hold(held, rest)
	return a, cuts
}

func TestArrivals_SlowestIsCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(16 * mib)
		silent, cutSilent := hold(t, b, 4*mib, 4*mib)
		slow, cutSlow := hold(t, b, 4*mib, 4*mib)
		fast, cutFast := hold(t, b, 4*mib, 4*mib)
		unknown, cutUnknown := hold(t, b, 1*mib, -1)
		time.Sleep(arrivalGrace)
		slow.Came(10 << 10)
		fast.Came(2 * mib)
		unknown.Came(1 * mib)
		err := b.Wait(mib, time.Second, nil)
		assert.True(t, err == nil, "got %v, want room after slow ones were cut", err)
		if *cutSilent != 1 || *cutSlow != 1 || *cutFast != 0 || *cutUnknown != 0 {
			t.Errorf("cut %d, %d, %d and %d, want the silent and the slow one", *cutSilent, *cutSlow, *cutFast, *cutUnknown)
		}
		for _, a := range []*Arrival{silent, slow, fast, unknown} {
			a.End()
		}
		got := b.Stats().Cut
		assert.True(t, got == 2 && len(b.arrivals.pending) == 0, "got %d cut and %d left, want 2 and none", got, len(b.arrivals.pending))
	})
}

func TestArrivals_YoungOrEmptyOnesStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(16 * mib)
		_, cutOld := hold(t, b, 14*mib, 14*mib)
		waits, cutWaits := hold(t, b, 0, 14*mib)
		if err := b.Wait(mib, arrivalGrace-time.Second, nil); !errors.Is(err, ErrFull) || *cutOld != 0 {
			t.Errorf("got %v with %d cut, want %v: it is young", err, *cutOld, ErrFull)
		}
		time.Sleep(time.Minute)
		if b.Take(4*mib, 4*mib) || *cutOld != 1 {
			t.Errorf("got %d cut, want 1: no room is a reason to cut", *cutOld)
		}
		b.cutSlowest(1)
		assert.Equal(t, "*cutWaits", *cutWaits, 0)
		assert.Equal(t, "*cutOld", *cutOld, 1)
		waits.Hold(1, 10)
		time.Sleep(arrivalGrace)
		b.cutSlowest(1)
		assert.Equal(t, "cut", *cutWaits, 1)
	})
}

// TestArrivals_MakeRoomForLargeBody: many slow clients of little each have filled the budget far above what is for new
// large bodies.
func TestArrivals_MakeRoomForLargeBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(64 * mib)
		for range 600 {
			hold(t, b, 96<<10, -1)
		}
		time.Sleep(arrivalGrace)
		if err := b.Wait(448<<10, roomWait, nil); err != nil {
			t.Errorf("got %v with %d of 600 cut, want room", err, b.Stats().Cut)
		}
		got := b.Stats().Cut
		assert.True(t, got <= 300, "got %d of 600 cut, want no more than what makes room", got)
	})
}
