//go:build !race

// The race detector has pools drop some of what they are given.

package bufpool

import (
	"testing"

	"pinion/tests/assert"
)

// TestAlloc_SliceIsReused: a round allocates no memory for the body itself. A collection empties the pool, so some rounds do.
func TestAlloc_SliceIsReused(t *testing.T) {
	Put(Get(1 << 20))
	result := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			Put(Get(1 << 20))
		}
	})
	each := result.AllocedBytesPerOp()
	assert.True(t, each <= 1<<16, "a round allocates %d bytes, want at most %d", each, 1<<16)
}
