package resources

import (
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"time"
)

// Go's collector starts a cycle when the heap has doubled. The front's heap is 3 MB, so under load that would be thirty
// cycles a second. Instead it starts after so many bytes, and at the doubling of a larger heap. A fixed GOGC gains as
// much, but multiplies a large live heap, and a block that is never touched is doubled itself (docs/experiments.md).
const heapGrowth = 18 << 20

// heapFloor is the live heap up to which the collector's percentage is the largest: Go takes that percentage of 4 MiB as
// the least size of a heap.
const heapFloor = 4 << 20

// HeapQuietTime is for how long the collector must have had nothing to do before the memory of a busy time is given
// back.
const HeapQuietTime = 5 * time.Second

// worthwhileRelease is how much must have been given back for another attempt, in bytes.
const worthwhileRelease = 2 << 20

// Heap lets the collector run after heapGrowth, and gives the system its memory back after a busy time.
type Heap struct {
	percent int // as the collector has it; only the finalizer's goroutine writes it

	mu       sync.Mutex
	timer    *time.Timer
	released time.Time // when memory was last given back, which takes its own cycles
}

// PauseHeap is for a front that starts: it allocates less than heapGrowth, and a cycle would only slow it down. newHeap
// ends it.
func PauseHeap() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(-1)
	}
}

// NewHeap is for the front: a worker's Go does nothing. Where GOGC is set its user knows better.
func NewHeap() *Heap {
	if os.Getenv("GOGC") != "" {
		return nil
	}
	h := &Heap{percent: percentFor(0)}
	debug.SetGCPercent(h.percent)
	h.timer = time.AfterFunc(HeapQuietTime, h.release) // after what starting took
	h.follow()
	return h
}

// follow calls collected at the end of each cycle, which finds an unreachable object with a finalizer. The object holds
// h.
func (h *Heap) follow() {
	runtime.SetFinalizer(&struct{ h *Heap }{h}, func(*struct{ h *Heap }) {
		h.adapt()
		h.collected()
		h.follow()
	})
}

// percentFor returns the percentage with which a heap grows by heapGrowth, or doubles if it is larger.
func percentFor(live uint64) int {
	return int(max(100, heapGrowth*100/max(live, heapFloor)))
}

// adapt sets the percentage for what is alive now: the stacks, and what the collector's goal is a multiple of. Package
// runtime/metrics would say it, but allocates at each start of the binary. Setting the percentage stops all goroutines
// for a moment, so small changes wait.
func (h *Heap) adapt() {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	percent := percentFor((m.NextGC + m.StackInuse) * 100 / uint64(100+h.percent))
	if change := percent - h.percent; change*8 > h.percent || -change*8 > h.percent {
		h.percent = percent
		debug.SetGCPercent(percent)
	}
}

func (h *Heap) collected() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if time.Since(h.released) > HeapQuietTime/2 {
		h.timer.Reset(HeapQuietTime)
	}
}

// release gives memory back, and comes again as long as that was worth it: what many connections held goes piece by
// piece.
func (h *Heap) release() {
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
		h.timer.Reset(HeapQuietTime)
	}
}

// ReleaseSoon gives memory back after that long, unless the collector has something to do meanwhile.
func (h *Heap) ReleaseSoon(after time.Duration) {
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
