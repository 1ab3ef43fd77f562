package resources

import (
	"runtime/debug"
	"testing"

	"pinion/tests/assert"
)

// TestApplyMemory_FollowsBudget also where no control group has a limit.
func TestApplyMemory_FollowsBudget(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	t.Setenv("GOMEMLIMIT", "")
	for _, budget := range []int64{64 << 20, 256 << 20, 1 << 30} {
		got, most := ApplyMemoryLimit(budget), 2*budget+besideBudget-besideHeap
		if got < budget || got > most || got != debug.SetMemoryLimit(-1) {
			t.Errorf("a budget of %d: got a limit of %d, and %d in force; want at least the budget and at most %d", budget, got,
				debug.SetMemoryLimit(-1), most)
		}
	}
	t.Setenv("GOMEMLIMIT", "1GiB")
	assert.Equal(t, "GOMEMLIMIT", ApplyMemoryLimit(64<<20), 0)
}
