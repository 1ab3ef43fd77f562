package server

import (
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"time"
)

// Go's collector starts a cycle when the heap has doubled. The front's heap is 3 MB, so under load that is thirty
// cycles a second. A block that is never touched counts as heap and delays the next cycle; it takes addresses, not
// memory. A larger GOGC gains as much, but multiplies a large live heap (docs/experiments.md).
const heapRoom = 16 << 20

// heapQuietTime is for how long the collector must have had nothing to do before the memory of a busy time is given
// back.
const heapQuietTime = 5 * time.Second

// worthwhileRelease is how much must have been given back for another attempt, in bytes.
const worthwhileRelease = 2 << 20

// heap gives the collector room, and the system its memory back when the room is not needed any more.
type heap struct {
	room []byte

	mu       sync.Mutex
	timer    *time.Timer
	released time.Time // when memory was last given back, which takes its own cycles
}

// PauseHeap is for a front that starts: it allocates less than the room, and a cycle would only slow it down. newHeap
// ends it.
func PauseHeap() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(-1)
	}
}

// newHeap is for the front: a worker's Go does nothing. Where GOGC is set its user knows better.
func newHeap() *heap {
	if os.Getenv("GOGC") != "" {
		return nil
	}
	debug.SetGCPercent(100)
	h := &heap{room: make([]byte, heapRoom)}
	h.timer = time.AfterFunc(heapQuietTime, h.release) // after what starting took
	h.follow()
	return h
}

// follow calls collected at the end of each cycle, which finds an unreachable object with a finalizer. The object holds
// h.
func (h *heap) follow() {
	runtime.SetFinalizer(&struct{ h *heap }{h}, func(*struct{ h *heap }) {
		h.collected()
		h.follow()
	})
}

func (h *heap) collected() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if time.Since(h.released) > heapQuietTime/2 {
		h.timer.Reset(heapQuietTime)
	}
}

// release gives memory back, and comes again as long as that was worth it: what many connections held goes piece by
// piece.
func (h *heap) release() {
	before := fromSystem()
	h.mu.Lock()
	h.released = time.Now() // its own cycles are no reason to come again
	h.mu.Unlock()
	runtime.GC() // what pools keep outlives one cycle
	debug.FreeOSMemory()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.released = time.Now()
	if before-fromSystem() > worthwhileRelease {
		h.timer.Reset(heapQuietTime)
	}
}

// ReleaseSoon gives memory back after that long, unless the collector has something to do meanwhile.
func (h *heap) ReleaseSoon(after time.Duration) {
	h.mu.Lock()
	h.timer.Reset(after)
	h.mu.Unlock()
}

// fromSystem returns how much memory Go has of the system, in bytes.
func fromSystem() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys - m.HeapReleased)
}
