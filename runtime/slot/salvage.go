package slot

// salvage takes the answers that a dead worker had and did not come to send. Its leader has left: where it has
// not, because a stranger keeps the socket open, nothing is taken.
func (s *Slot) salvage() {
	p := s.pool
	p.mu.Lock()
	able := s.lost && s.count > 0
	p.mu.Unlock()
	if !able {
		return
	}
	_ = s.conn.Salvage(s.words, s.onFrame) // what makes no sense was left by one that died: its calls fail with that cause
	s.fault = nil
	p.mu.Lock()
	for i, c := range s.woken {
		c.poke()
		s.woken[i] = nil
	}
	s.woken = s.woken[:0]
	p.mu.Unlock()
	s.out.deliver()
	clear(s.out)
	s.out = s.out[:0]
}
