package slot

import (
	"testing"

	"pinion/tests/await"
)

// TestMovedIsToldWithTheResult: of a call that was sent to a second slot the first may still be sent the bytes, from
// where they lie, when the second has answered. So whoever would use that memory again must learn of it.
func TestMovedIsToldWithTheResult(t *testing.T) {
	t.Run("to an idle slot", func(t *testing.T) {
		await.NoLeak(t)
		p := NewPool(Options{Queue: 20})
		w := newWorker(t, p, 2)
		first := start(t, p, "held")
		other := start(t, p, "other")
		behind := start(t, p, "behind")
		slow, fast := w.lines[0], w.lines[1]
		if locked(p, func() bool { return first.slot == w.slots[1] }) {
			slow, fast = fast, slow
		}
		held := slow.begin()
		if locked(p, func() bool { return behind.slot == other.slot }) {
			t.Fatal("it does not lie behind the one that is held")
		}
		fast.succeed(fast.begin())
		fast.succeed(fast.begin()) // which lay behind held
		slow.expect()
		slow.succeed(held)
		movedOnly(t, behind, first, other)
		empty(t, p)
	})
	t.Run("from a dead worker", func(t *testing.T) {
		await.NoLeak(t)
		p := NewPool(Options{Queue: 20})
		dies := newWorker(t, p, 1)
		f := start(t, p, "a")
		parked(t, f)
		dies.bury("died")
		lives := newWorker(t, p, 1).lines[0]
		lives.succeed(lives.begin())
		movedOnly(t, f)
		empty(t, p)
	})
}

func movedOnly(t *testing.T, moved *flight, others ...*flight) {
	t.Helper()
	moved.succeeded()
	if !moved.Result.Moved {
		t.Errorf("%s was sent to two slots, and does not say so", moved.Name)
	}
	for _, f := range others {
		f.succeeded()
		if f.Result.Moved {
			t.Errorf("%s says that it was moved", f.Name)
		}
	}
}
