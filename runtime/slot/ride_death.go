package slot

import (
	"slices"
	"time"
)

// detachRiders settles the calls that rode or were to ride in a dead worker. It returns how many the model had, and
// those that are to go elsewhere. Called with the lock held.
func (p *Pool) detachRiders(s *Slot, cause string, logs []byte, now time.Time) (n int, back []*Call) {
	if s.crew.batch == nil {
		return 0, nil
	}
	had, rest := s.autopsy()
	back = rest[:0]
	for _, c := range rest {
		if c.suspect { // it was the only one there
			had = append(had, c)
			continue
		}
		c.suspect = s.line != nil // its preparation, also where that had ended, may be what the worker died of
		back = append(back, c)
	}
	for _, c := range had {
		began := later(c.since, s.freed)
		if c.ride != nil {
			began = later(c.ride.at, s.freed)
		}
		r := Result{Waited: max(0, began.Sub(c.since)), Elapsed: now.Sub(began), Err: &LostError{Cause: cause}}
		switch {
		case c.canceling:
			r.Err = ErrCanceled
			p.end(c, r)
		case p.stopped == nil && c.retries():
			c.alone = true
			back = append(back, c)
		default:
			c.addLogs("stderr", logs)
			p.end(c, r)
		}
	}
	s.rides = nil
	for _, c := range back {
		s.release(c)
		s.recall(c)
	}
	stay := back[:0]
	for _, c := range back {
		if c.canceling {
			c.state = fresh // it is nowhere
			p.end(c, Result{Err: ErrCanceled})
			continue
		}
		stay = append(stay, c)
	}
	return len(had), stay
}

// autopsy sorts the calls that rode or were to ride in a dead worker: those that the model had and those that it had
// not. Called with the lock held.
func (s *Slot) autopsy() (had, rest []*Call) {
	begun := make(map[*ride]bool)
	for _, r := range s.rides {
		begun[r] = !s.words.Revoke(r.id)
	}
	for _, c := range s.riders {
		switch {
		case c == nil:
		case c.ride != nil && (c.ride.done || begun[c.ride]):
			had = append(had, c)
		default:
			rest = append(rest, c)
		}
	}
	byID := func(a, b *Call) int {
		if a.id < b.id {
			return -1
		}
		return 1
	}
	slices.SortFunc(had, byID)
	slices.SortFunc(rest, byID)
	return had, rest
}

// retries tells whether a call that the model had is to run once more.
func (c *Call) retries() bool {
	return c.slot.crew.batch != nil && c.slot.crew.batch.Isolate && c.ride != nil && len(c.ride.calls) > 1 && !c.alone
}
