package bufpool

import "testing"

func TestBufpool_Get(t *testing.T) {
	for _, n := range []int{0, 1, Min - 1, Min, Min + 1, 1 << 20, 1<<20 + 1, Max - 1, Max, Max + 1} {
		b := Get(n)
		if len(b) != n {
			t.Fatalf("Get(%d) has %d bytes, want %d bytes", n, len(b), n)
		}
		for i := range b {
			b[i] = 1
		}
		Put(b)
		if again := Get(n); len(again) != n {
			t.Errorf("Get(%d) after Put has %d bytes, want %d bytes", n, len(again), n)
		}
	}
}

func TestBufpool_PutOfOtherSlices(t *testing.T) {
	for _, n := range []int{0, 1, Min + 1, 3 << 20, Max + 1} {
		Put(make([]byte, n))
		if b := Get(n); len(b) != n {
			t.Errorf("Get(%d) has %d bytes, want %d bytes", n, len(b), n)
		}
	}
}
