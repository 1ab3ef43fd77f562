package server

import (
	"runtime"
	"testing"
)

// sink keeps what a test allocates from being optimised away.
var sink []byte

// cyclesOf is how many cycles begin while so many bytes of garbage are made.
func cyclesOf(bytes int) uint32 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for made := 0; made < bytes; made += 16 << 10 {
		sink = make([]byte, 16<<10)
	}
	runtime.ReadMemStats(&after)
	return after.NumGC - before.NumGC
}

func TestHeap_CollectorHasRoom(t *testing.T) {
	t.Setenv("GOGC", "100")
	if newHeap() != nil {
		t.Error("GOGC is set, and not heeded")
	}
	t.Setenv("GOGC", "")
	h := newHeap()
	h.timer.Stop()
	runtime.GC() // the room counts from the next cycle on
	if n := cyclesOf(heapRoom * 3 / 4); n != 0 {
		t.Errorf("%d cycles for less than the room", n)
	}
	if n := cyclesOf(4 * heapRoom); n == 0 {
		t.Error("no cycle for four times the room")
	}
	before := fromSystem()
	h.release()
	if after := fromSystem(); before-after < heapRoom/2 {
		t.Errorf("rest gave back %d bytes of %d", before-after, before)
	}
	h.timer.Stop()
	h.collected() // by rest itself
	if h.timer.Stop() {
		t.Error("rest follows upon rest")
	}
	h.mu.Lock()
	h.released = h.released.Add(-heapQuietTime)
	h.mu.Unlock()
	h.collected()
	if !h.timer.Stop() {
		t.Error("no timer gives back what the next busy time takes")
	}
}
