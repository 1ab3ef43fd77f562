package slot

import "pinion/ipc"

// A worker that is stuck as a whole does not answer its supervisor's questions. One whose loop is stuck does, for a
// thread of its own answers them; but it takes no call. It is told by its slots: a slot whose running word names nothing is
// free, and a call that was handed to a free slot is claimed at once. A slot that has a call is busy, for however long.
// What is to be prepared for a batch has no claim word: of that a worker is stuck that does not even read it.

// Stalled looks at the slots of a worker, and returns in how many looks in a row, this one included, one of them did not
// take the same call. Whoever asks does so in steady intervals.
func (p *Pool) Stalled(slots []*Slot) (looks int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range slots {
		id := s.untaken()
		switch {
		case id == 0:
			s.stuckFor = 0
		case id == s.stuck:
			s.stuckFor++
		default:
			s.stuckFor = 1
		}
		s.stuck = id
		looks = max(looks, s.stuckFor)
	}
	return looks
}

// untaken is the oldest call or batch of a slot, where its worker should have taken it, or 0. Called with the lock held.
func (s *Slot) untaken() uint64 {
	if s.lost {
		return 0
	}
	id := uint64(0)
	for _, c := range s.calls {
		if c != nil && (id == 0 || c.id < id) {
			id = c.id
		}
	}
	if len(s.rides) > 0 && (id == 0 || s.rides[0].id < id) {
		id = s.rides[0].id
	}
	if id == 0 {
		return s.unreadItem()
	}
	switch s.words.Claim(id) {
	case ipc.ClaimRunning: // it has begun
		return 0
	case ipc.ClaimQueued:
		if s.names(s.words.Running()) {
			return 0
		}
	}
	return id // also where the claim word is overwritten: the worker then skips the call, and never answers it
}

// unreadItem is the oldest call that the worker is to prepare, where it has read nothing since the last look though it has
// nothing else to do, or 0. Called with the lock held.
func (s *Slot) unreadItem() (id uint64) {
	before := s.unread
	if s.unread = 0; s.line == nil || s.names(s.words.Running()) {
		return 0
	}
	for _, c := range s.riders {
		if c != nil && !c.ready && (id == 0 || c.id < id) {
			id = c.id
		}
	}
	if id == 0 {
		return 0
	}
	if s.unread = s.conn.Unread(); s.unread == 0 || s.unread < before {
		return 0
	}
	return id
}
