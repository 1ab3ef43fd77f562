package server

import (
	"runtime"
	"testing"
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

func TestHeap_CollectorHasRoom(t *testing.T) {
	t.Setenv("GOGC", "100")
	if got := newHeap(); got != nil {
		t.Errorf("GOGC is set, and not heeded: got %+v, want nil", got)
	}
	t.Setenv("GOGC", "")
	h := newHeap()
	h.timer.Stop()
	runtime.GC() // the room counts from the next cycle on
	if n := cyclesOf(heapRoom * 3 / 4); n != 0 {
		t.Errorf("%d cycles for less than the room, want 0", n)
	}
	if n := cyclesOf(4 * heapRoom); n == 0 {
		t.Errorf("no cycle for four times the room: got %d, want anything but 0", n)
	}
	before := fromSystem()
	h.release()
	if after := fromSystem(); before-after < heapRoom/2 {
		t.Errorf("rest gave back %d bytes of %d, want at least %d", before-after, before, heapRoom/2)
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
