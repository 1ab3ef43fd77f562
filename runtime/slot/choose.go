package slot

// choose finds the slot for the next call: an idle one, of the worker that has least to do, and of those
// the last used, for its caches are warm; else the one with the fewest outstanding that has room in its
// window; else none. Called with the lock held.
func (p *Pool) choose() *Slot {
	if s := p.chooseIdle(); s != nil {
		return s
	}
	var best *Slot
	for _, s := range p.slots {
		if !s.lost && !s.leaving && s.crew.batch == nil && s.count < s.window && (best == nil || s.count < best.count) {
			best = s
		}
	}
	return best
}

// chooseIdle takes a slot off those that may be idle.
func (p *Pool) chooseIdle() *Slot {
	for n := len(p.idle); n > 0; n = len(p.idle) {
		best := n - 1
		for i := best - 1; i >= 0 && p.crews > 1 && p.idle[best].crew.busy > 0; i-- {
			if s := p.idle[i]; s.isIdle() && s.crew.busy < p.idle[best].crew.busy {
				best = i
			}
		}
		s := p.idle[best]
		p.idle[best] = p.idle[n-1]
		p.idle = p.idle[:n-1]
		s.resting = false
		if s.isIdle() {
			return s
		}
	}
	return nil
}

func (s *Slot) isIdle() bool { return s.count == 0 && !s.lost && !s.leaving }
