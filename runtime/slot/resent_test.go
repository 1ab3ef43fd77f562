package slot

import (
	"testing"

	"pinion/tests/assert"
)

// TestResent_OwnerIsTold: the bytes of a call may still be on their way to its first slot when the second has answered.
// So the owner of their memory must know that.
func TestResent_OwnerIsTold(t *testing.T) {
	t.Run("to an idle slot", func(t *testing.T) {
		p, w := poolWithWorker(t, Options{Queue: 20}, 2)
		first := start(t, p, "running")
		other := start(t, p, "other")
		behind := start(t, p, "behind")
		slow, fast := w.ends[0], w.ends[1]
		if locked(p, func() bool { return first.slot == w.slots[1] }) {
			slow, fast = fast, slow
		}
		running := slow.begin()
		assert.TrueNow(t, !locked(p, func() bool { return behind.slot == other.slot }),
			"the call waits at another slot, want it behind the running one")
		fast.succeed(fast.begin())
		fast.succeed(fast.begin()) // which waited behind running
		slow.expect()
		slow.succeed(running)
		resentOnly(t, behind, first, other)
		empty(t, p)
	})
	t.Run("from a dead worker", func(t *testing.T) {
		p := testPool(t, Options{Queue: 20})
		dies := newWorker(t, p, 1)
		f := start(t, p, "a")
		parked(t, f)
		dies.terminate("died")
		lives := newWorker(t, p, 1).ends[0]
		lives.succeed(lives.begin())
		resentOnly(t, f)
		empty(t, p)
	})
}

func resentOnly(t *testing.T, resent *testCall, others ...*testCall) {
	t.Helper()
	resent.succeeded()
	assert.True(t, resent.Result.Resent,
		"%s was sent to two slots, and does not say so", resent.Name)
	for _, f := range others {
		f.succeeded()
		assert.False(t, f.Result.Resent, "%s says that it was moved", f.Name)
	}
}
