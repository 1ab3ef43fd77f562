package resources

import (
	"fmt"
	"runtime"
	"runtime/metrics"
	"testing"

	"pinion/tests/assert"
)

// sink keeps what a test allocates from being optimised away.
var sink []byte

// cyclesOf returns how many cycles begin while so many bytes of garbage are made.
func cyclesOf(bytes int) uint32 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for made := 0; made < bytes; made += 16 << 10 {
		sink = make([]byte, 16<<10)
	}
	runtime.ReadMemStats(&after)
	return after.NumGC - before.NumGC
}

func TestHeap_CollectsAfterGrowthAndGivesBack(t *testing.T) {
	t.Setenv("GOGC", "100")
	got := NewHeap()
	assert.True(t, got == nil, "GOGC is set, and not heeded: got %+v, want nil", got)
	t.Setenv("GOGC", "")
	h := NewHeap()
	h.timer.Stop()
	runtime.GC()                               // what other tests allocated does not count
	if n := cyclesOf(heapGrowth / 2); n != 0 { // a cycle starts up to 30 % before the growth, to end at it
		t.Errorf("%d cycles for half of the growth, want 0", n)
	}
	n := cyclesOf(4 * heapGrowth)
	assert.True(t, n != 0, "no cycle for four times the growth: got %d, want anything but 0", n)
	before := fromSystem()
	h.release()
	after := fromSystem()
	assert.True(t, before-after >= heapGrowth/2, "rest gave back %d bytes of %d, want at least %d", before-after, before, heapGrowth/2)
	h.timer.Stop()
	h.collected() // by rest itself
	assert.False(t, h.timer.Stop(), "rest follows upon rest")
	h.mu.Lock()
	h.released = h.released.Add(-HeapQuietTime)
	h.mu.Unlock()
	h.collected()
	assert.True(t, h.timer.Stop(), "no timer gives back what the next busy time takes")
}

// TestHeap_LargeHeapsDouble: a large live heap is not multiplied, and a small one grows by heapGrowth again after it.
func TestHeap_LargeHeapsDouble(t *testing.T) {
	for live, want := range map[uint64]int{0: 450, 4 << 20: 450, 9 << 20: 200, 18 << 20: 100, 1 << 30: 100} {
		assert.Equal(t, fmt.Sprintf("percentage for %d live bytes", live), percentFor(live), want)
	}
	t.Setenv("GOGC", "")
	h := NewHeap()
	defer h.timer.Stop()
	large := make([]byte, 4*heapGrowth)
	awaitPercent(t, 100)
	runtime.KeepAlive(large)
	awaitPercent(t, percentFor(heapGrowth/2))
}

// awaitPercent collects until the collector's percentage is at least so large, or exactly 100.
func awaitPercent(t *testing.T, want int) {
	t.Helper()
	sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	assert.Eventually(t, fmt.Sprintf("the percentage to become %d", want), func() bool {
		runtime.GC()
		metrics.Read(sample)
		got := int(sample[0].Value.Uint64())
		return got == want || want > 100 && got > want
	})
}
