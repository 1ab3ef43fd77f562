package slot

import (
	"errors"
	"fmt"
	"time"

	"pinion/ipc"
)

// TimeoutError ends a call that the model had for longer than it may.
type TimeoutError struct{ After time.Duration }

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("Prediction timed out: it ran for longer than %s", e.After)
}

// How the time of a running call is kept: at each look a slot's running word either changed, and then a
// new call runs at most since the look before, or it did not. So the way of a call costs nothing for it,
// and a timeout is late by one look at most. A running word that names no call of the slot's says nothing: the model may
// have written over it. Then the oldest call counts that cannot be taken back.
const (
	looks     = 20 // in the time that a call may take
	firstLook = time.Millisecond
	lastLook  = time.Second
)

// watch sees to it that slots are looked at while they have calls. Called with the lock held.
func (p *Pool) watch() {
	if p.o.PredictTimeout <= 0 || p.looking != nil {
		return
	}
	p.looking = time.AfterFunc(min(lastLook, max(firstLook, p.o.PredictTimeout/looks)), p.look)
}

// look cancels what ran for too long.
func (p *Pool) look() {
	p.mu.Lock()
	now := time.Now()
	p.looking = nil
	busy := false
	var d deliveries
	for _, s := range p.slots {
		if s.lost || s.count == 0 && len(s.rides) == 0 {
			s.seen = 0
			continue
		}
		busy = true
		d = p.overrunAfter(s, now, d)
		id := s.begun()
		if id == 0 || id != s.seen {
			s.seen, s.seenAt = id, now
			continue
		}
		if r := s.rideOf(id); r != nil {
			if now.Sub(s.seenAt) >= p.o.PredictTimeout {
				p.overrun(r, now)
			}
			continue
		}
		c := s.outstanding(id)
		if c == nil || c.canceling || c.Train || now.Sub(s.seenAt) < p.o.PredictTimeout {
			continue
		}
		c.overtime, c.canceling = true, true
		d = append(d, p.cancelLocked(c)...)
	}
	if busy {
		p.watch()
	}
	p.mu.Unlock()
	d.deliver()
}

// begun is the id that the model has, or 0. Called with the lock held.
func (s *Slot) begun() uint64 {
	if id := s.words.Running(); s.names(id) {
		return id
	}
	for _, c := range s.inOrder() {
		if s.words.Claim(c.id) != ipc.ClaimQueued {
			return c.id
		}
	}
	return 0
}

// names tells whether an id is of a call or batch that the slot has. Called with the lock held.
func (s *Slot) names(id uint64) bool {
	return id != 0 && (s.outstanding(id) != nil || s.rideOf(id) != nil)
}

// overrunAfter cancels calls whose batch is done and whose answer takes too long: the model has a function for that too.
// Called with the lock held.
func (p *Pool) overrunAfter(s *Slot, now time.Time, d deliveries) deliveries {
	for _, c := range s.riders {
		if c != nil && c.ride != nil && c.ride.done && !c.canceling && now.Sub(c.ride.began) >= p.o.PredictTimeout {
			c.overtime, c.canceling = true, true
			d = append(d, p.cancelRider(c)...)
		}
	}
	return d
}

// timedOut is the result of a call that was cancelled because it ran for too long: unless it got done all
// the same. Called with the lock held.
func (c *Call) timedOut(r Result) Result {
	if !c.overtime || r.Kind == ipc.KindSucceeded || r.Err != nil && !errors.Is(r.Err, ErrCanceled) {
		return r
	}
	r.Kind, r.Err = 0, &TimeoutError{After: c.pool.o.PredictTimeout}
	return r
}
