package slot

import (
	"time"

	"pinion/ipc"
)

// A worker whose loop is stuck still answers its supervisor's pings, by a separate thread. But it takes no call. A slot
// is free if its running word names no call, and a free slot claims a call at once; so a call that stays unclaimed in a
// free slot shows the stall. A slot that runs a call is busy, and does not count. An item that is to be prepared for a
// batch has no claim word; it counts while the worker does not read it. Calls may be withdrawn sooner than the stall is
// certain: they count together, as long as the slot ends none.

// stall describes what a slot had not taken at the last check. Guarded by pool.mu.
type stall struct {
	id     uint64    // of the call or batch
	checks int       // checks that found a call untaken, since the slot has taken one
	unread int       // bytes that the worker had not read
	freed  time.Time // slot.freed
}

// look notes what the slot has not taken now.
func (t *stall) look(s *Slot) {
	id := s.untaken()
	switch ended := !s.freed.Equal(t.freed); {
	case id == 0 && (ended || s.outstanding > 0): // it works, or runs one
		t.checks = 0
	case id == 0: // its calls were withdrawn
	case id != t.id && ended:
		t.checks = 1
	default:
		t.checks++
	}
	t.id, t.freed = id, s.freed
}

// Stalled checks the slots of a worker. It returns in how many checks, this one included, a slot did not take a call
// though it took no other in between. Its caller checks at regular intervals.
func (p *Pool) Stalled(slots []*Slot) int {
	return underLock(p, func() (checks int) {
		for _, s := range slots {
			s.stall.look(s)
			checks = max(checks, s.stall.checks)
		}
		return checks
	})
}

// untaken returns the oldest call or batch that the slot should have taken and has not, or 0.
func (s *Slot) untaken() uint64 {
	if s.ch.closed {
		return 0
	}
	id := uint64(0)
	if calls := s.window.oldestFirst(); len(calls) > 0 {
		id = calls[0].id
	}
	if runs := s.batches.runs; len(runs) > 0 && (id == 0 || runs[0].id < id) {
		id = runs[0].id
	}
	if id == 0 {
		return s.unreadItem()
	}
	switch s.words.Claim(id) {
	case ipc.ClaimRunning: // it has begun
		return 0
	case ipc.ClaimQueued:
		if s.has(s.words.Running()) {
			return 0
		}
	}
	return id // also if the claim word is overwritten, because the worker then skips the call and never answers it
}

// unreadItem returns the oldest item that the worker is to prepare, if it has read nothing since the last check and has
// nothing else to do; else 0.
func (s *Slot) unreadItem() (id uint64) {
	before := s.stall.unread
	if s.stall.unread = 0; s.batches.prepared == nil || s.has(s.words.Running()) {
		return 0
	}
	for _, c := range s.batches.items {
		if c != nil && !c.batch.prepared && (id == 0 || c.id < id) {
			id = c.id
		}
	}
	if id == 0 {
		return 0
	}
	if s.stall.unread = s.ch.conn.Unread(); s.stall.unread == 0 || s.stall.unread < before {
		return 0
	}
	return id
}
