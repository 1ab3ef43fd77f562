package slot

import (
	"math/bits"
	"time"

	"pinion/ipc"
)

// The window is the number of requests in a slot's socket, the running one included. It is large enough that the worker
// has the next one while an answer travels (about 100 µs for the round trip; twice that for safety). Further ones would
// be harder to move to another slot. A request that waits behind a slow one is overtaken by those in the queue, which
// other slots take. So a slot of several has none waiting if its calls are slow: the round trip does not count then.
const (
	windowSpan = 200 * time.Microsecond
	minWindow  = 2
	maxWindow  = 32
	slowCall   = 50 * time.Millisecond
)

// window holds the calls in a slot's socket that are in no batch, with their claim words. Guarded by pool.mu.
type window struct {
	calls  [ipc.Claims]*Call // by claim index
	free   uint64            // a bit for each unused claim index
	count  int               // calls
	slot   int               // the slot's index in its worker
	serial uint64            // of the last id
	size   int               // maximum number of calls
	single bool              // size is always 1
	mean   time.Duration     // moving average of the time that the model has a call
}

// newID returns an id without a claim word.
func (w *window) newID() uint64 {
	w.serial++
	return ipc.MakeID(w.slot, w.serial, 0)
}

// newClaim returns an id with its own claim word, until freeClaim.
func (w *window) newClaim() uint64 {
	i := bits.TrailingZeros64(w.free)
	w.free &^= 1 << i
	w.serial++
	return ipc.MakeID(w.slot, w.serial, i)
}

func (w *window) freeClaim(id uint64) { w.free |= 1 << ipc.ClaimIndex(id) }

// add puts a call under its id into the window.
func (w *window) add(c *Call) {
	w.calls[ipc.ClaimIndex(c.id)] = c
	w.count++
}

func (w *window) remove(c *Call) {
	w.calls[ipc.ClaimIndex(c.id)] = nil
	w.freeClaim(c.id)
	w.count--
}

// oldestFirst lists the calls in the order of their ids.
func (w *window) oldestFirst() []*Call {
	calls := make([]*Call, 0, w.count)
	for _, c := range w.calls {
		if c != nil {
			calls = append(calls, c)
		}
	}
	sortByID(calls)
	return calls
}

// learn adds the time of one call to the average, and sets the size by it and by how many slots the pool has.
func (w *window) learn(took time.Duration, slots int) {
	if w.mean == 0 {
		w.mean = took
	} else {
		w.mean += (took - w.mean) / 8
	}
	switch {
	case w.single: // see Hooks.Streamed
	case w.mean <= 0:
		w.size = maxWindow
	case w.mean >= slowCall && slots > 1:
		w.size = 1
	default:
		w.size = int(min(maxWindow, max(minWindow, windowSpan/w.mean)))
	}
}
