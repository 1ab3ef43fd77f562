package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"time"
)

// Go's collector begins a cycle when the heap has doubled. The front's is 3 MB, so under load it would begin thirty
// cycles a second, and each costs the sweep of all spans and the marking of all that is alive, however little that is.
// Nothing says "not below so many bytes" but the heap itself: so a part of it is never touched. It is no memory,
// only addresses.
const heapRoom = 16 << 20

// quiet is for how long the collector must have had nothing to do before the memory of a busy time is given back.
const quiet = 5 * time.Second

// worthwhile is how much must have been given back for another attempt, in bytes.
const worthwhile = 2 << 20

// heap gives the collector room, and the system its memory back when the room is not needed any more.
type heap struct {
	room []byte

	mu     sync.Mutex
	timer  *time.Timer
	rested time.Time // when memory was last given back, which takes cycles of its own
}

// easeHeap is for the front: a worker's Go does nothing. Where GOGC is set its user knows better.
func easeHeap() *heap {
	if os.Getenv("GOGC") != "" {
		return nil
	}
	h := &heap{room: make([]byte, heapRoom)}
	h.timer = time.AfterFunc(quiet, h.rest) // after what starting took
	h.follow()
	return h
}

// follow has collected called at the end of each cycle: an object that nobody holds is found in each. It holds h,
// and so the room.
func (h *heap) follow() {
	runtime.SetFinalizer(&struct{ h *heap }{h}, func(*struct{ h *heap }) {
		h.collected()
		h.follow()
	})
}

func (h *heap) collected() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if time.Since(h.rested) > quiet/2 {
		h.timer.Reset(quiet)
	}
}

// rest gives memory back, and comes again as long as that was worth it: what many connections held goes piece by
// piece.
func (h *heap) rest() {
	before := held()
	h.mu.Lock()
	h.rested = time.Now() // its own cycles are no reason to come again
	h.mu.Unlock()
	runtime.GC() // what pools keep outlives one cycle
	debug.FreeOSMemory()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.rested = time.Now()
	if before-held() > worthwhile {
		h.timer.Reset(quiet)
	}
}

// restSoon gives memory back after that long, unless the collector has something to do meanwhile.
func (h *heap) restSoon(after time.Duration) {
	h.mu.Lock()
	h.timer.Reset(after)
	h.mu.Unlock()
}

// held is how much memory Go has of the system, in bytes.
func held() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys - m.HeapReleased)
}
