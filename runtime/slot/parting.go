package slot

// forget tells whether an answer is one that nobody waits for any more, and was due. Called with the lock held.
func (s *Slot) forget(id uint64) bool {
	_, due := s.riders[id]
	delete(s.riders, id)
	if gone := s.partings[id]; gone != nil {
		delete(s.partings, id)
		gone()
	}
	return due
}

// keep notes what is to be called when the worker answers for a call that has ended. Called with the lock held.
func (s *Slot) keep(id uint64, gone func()) {
	if s.partings == nil {
		s.partings = make(map[uint64]func())
	}
	s.partings[id] = gone
}

// partWithAll is told that the worker is dead. Called with the lock held.
func (s *Slot) partWithAll() {
	for _, gone := range s.partings {
		gone()
	}
	s.partings = nil
}
