package bufpool

import (
	"testing"

	"pinion/tests/assert"
)

func TestBufpool_Get(t *testing.T) {
	for _, n := range []int{0, 1, Min - 1, Min, Min + 1, 1 << 20, 1<<20 + 1, Max - 1, Max, Max + 1} {
		b := Get(n)
		assert.EqualNow(t, "len(Get())", len(b), n)
		for i := range b {
			b[i] = 1
		}
		Put(b)
		assert.Equal(t, "len(Get()) after Put", len(Get(n)), n)
	}
}

func TestBufpool_PutOfOtherSlices(t *testing.T) {
	for _, n := range []int{0, 1, Min + 1, 3 << 20, Max + 1} {
		Put(make([]byte, n))
		assert.Equal(t, "len(Get())", len(Get(n)), n)
	}
}
