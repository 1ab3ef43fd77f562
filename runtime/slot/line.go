package slot

import (
	"time"

	"pinion/ipc"
)

// Place is a call's place in the line of those that the model has not begun, counted from 1; 0: it is not
// in the line (any more).
func (p *Pool) Place(c *Call) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	place := 1
	switch c.state {
	case queued:
		for x := c.prev; x != nil; x = x.prev {
			place++
		}
	case assigned:
		if c.slot.lost || !c.slot.waits(c) {
			return 0
		}
	default:
		return 0
	}
	for _, s := range p.slots {
		if s.lost {
			continue
		}
		for _, x := range s.calls {
			if x != nil && x != c && s.waits(x) && (c.state == queued || x.since.Before(c.since)) {
				place++
			}
		}
		for _, x := range s.riders {
			if x != nil && x != c && s.waits(x) && (c.state == queued || x.since.Before(c.since)) {
				place++
			}
		}
	}
	return place
}

// waits tells whether the model has not begun an outstanding call. Called with the lock held.
func (s *Slot) waits(c *Call) bool {
	if s.riders[c.id] != c {
		return s.words.Claim(c.id) == ipc.ClaimQueued
	}
	return c.ride == nil || !c.ride.done && s.words.Claim(c.ride.id) == ipc.ClaimQueued
}

// drainTime estimates when what waits now will have begun, at least a second: by the rate at which calls
// ended while others waited, or, before that is known, by the time that the model takes.
func (p *Pool) drainTime() time.Duration {
	each := p.meter.each()
	if each == 0 {
		var rate float64 // calls a second
		for _, s := range p.slots {
			if s.mean > 0 {
				rate += 1 / s.mean.Seconds()
			}
		}
		if rate > 0 {
			each = time.Duration(float64(time.Second) / rate)
		}
	}
	wait := each * time.Duration(p.queue.len+1)
	return max(time.Second, wait.Round(time.Second))
}
