package slot

import "pinion/ipc"

// A worker whose loop is stuck still answers its supervisor's pings, by a separate thread. But it takes no call. A slot
// is free if its running word names no call, and a free slot claims a call at once; so a call that stays unclaimed in a
// free slot shows the stall. A slot that runs a call is busy, and does not count. An item that is to be prepared for a
// batch has no claim word; it counts while the worker does not read it.

// stall describes what a slot had not taken at the last check. Guarded by pool.mu.
type stall struct {
	id     uint64 // of the call or batch
	checks int    // consecutive checks that found it untaken
	unread int    // bytes that the worker had not read
}

// Stalled checks the slots of a worker. It returns the number of consecutive checks, this one included, in which a slot
// did not take the same call. Its caller checks at regular intervals.
func (p *Pool) Stalled(slots []*Slot) int {
	return underLock(p, func() (checks int) {
		for _, s := range slots {
			id := s.untaken()
			if id != s.stall.id {
				s.stall.id, s.stall.checks = id, 0
			}
			if id != 0 {
				s.stall.checks++
			}
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
	switch s.ch.words.Claim(id) {
	case ipc.ClaimRunning: // it has begun
		return 0
	case ipc.ClaimQueued:
		if s.has(s.ch.words.Running()) {
			return 0
		}
	}
	return id // also if the claim word is overwritten, because the worker then skips the call and never answers it
}

// unreadItem returns the oldest item that the worker is to prepare, if it has read nothing since the last check and has
// nothing else to do; else 0.
func (s *Slot) unreadItem() (id uint64) {
	before := s.stall.unread
	if s.stall.unread = 0; s.batches.prepared == nil || s.has(s.ch.words.Running()) {
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
