package server

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
	if got := newHeap(); got != nil {
		t.Errorf("GOGC is set, and not heeded: got %+v, want nil", got)
	}
	t.Setenv("GOGC", "")
	h := newHeap()
	h.timer.Stop()
	runtime.GC()                               // what other tests allocated does not count
	if n := cyclesOf(heapGrowth / 2); n != 0 { // a cycle starts up to 30 % before the growth, to end at it
		t.Errorf("%d cycles for half of the growth, want 0", n)
	}
	if n := cyclesOf(4 * heapGrowth); n == 0 {
		t.Errorf("no cycle for four times the growth: got %d, want anything but 0", n)
	}
	before := fromSystem()
	h.release()
	if after := fromSystem(); before-after < heapGrowth/2 {
		t.Errorf("rest gave back %d bytes of %d, want at least %d", before-after, before, heapGrowth/2)
	}
	h.timer.Stop()
	h.collected() // by rest itself
	if h.timer.Stop() {
		t.Error("rest follows upon rest: Stop = true, want false")
	}
	h.mu.Lock()
	h.released = h.released.Add(-heapQuietTime)
	h.mu.Unlock()
	h.collected()
	if !h.timer.Stop() {
		t.Error("no timer gives back what the next busy time takes: Stop = false, want true")
	}
}

// TestHeap_LargeHeapsDouble: a large live heap is not multiplied, and a small one grows by heapGrowth again after it.
func TestHeap_LargeHeapsDouble(t *testing.T) {
	for live, want := range map[uint64]int{0: 450, 4 << 20: 450, 9 << 20: 200, 18 << 20: 100, 1 << 30: 100} {
		if got := percentFor(live); got != want {
			t.Errorf("percentage for %d live bytes: got %d, want %d", live, got, want)
		}
	}
	t.Setenv("GOGC", "")
	h := newHeap()
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
