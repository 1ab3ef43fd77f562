package slot

import (
	"slices"
	"time"

	"github.com/bytedance/sonic"

	"pinion/ipc"
	"pinion/runtime/predict"
)

// How a ride ends, or a call's part in it, while its worker lives: the function is done, a client cancels, a deadline
// passes, the function takes too long.

// batchDone takes in that the model has ended a ride's function: it is free for the next.
func (s *Slot) batchDone(f *ipc.Frame) {
	var told struct {
		Runs   int
		Failed bool
	}
	if err := sonic.Unmarshal(f.Body, &told); err != nil {
		s.violate("the end of a batch that cannot be read: %w", err)
		return
	}
	p := s.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	r := s.rideOf(f.ID)
	if r == nil {
		s.violate("the end of a batch, %#x, which does not run", f.ID)
		return
	}
	now := time.Now()
	took := time.Duration(f.Nanos)
	r.done, r.began = true, later(r.at, now.Add(-took))
	s.disband(r)
	s.freed = now
	s.mean = max(1, took/time.Duration(len(r.calls)))
	if told.Failed || told.Runs != 1 || r.cut {
		took = -1
	}
	if s.line != nil {
		s.line.Ended(p.moment(now), len(r.calls), took)
	} else if p.line != nil {
		p.line.Ended(p.moment(now), len(r.calls), took)
	}
	if p.o.OnBatch != nil {
		p.o.OnBatch(len(r.calls), r.held)
	}
	s.seeOff()
	s.out = p.form(s.out)
}

// waited is for how long a call waited before the model had it, which took so long. Called with the lock held.
func (c *Call) waited(took time.Duration) time.Duration {
	began := time.Now().Add(-took)
	if c.ride != nil && c.ride.done {
		began = c.ride.began
	}
	return max(0, began.Sub(c.since))
}

// cancelRider cancels a call that rides or is to ride: at once, unless it is the last of a ride that runs, which is
// interrupted. Called with the lock held.
func (p *Pool) cancelRider(c *Call) deliveries {
	s, r, id := c.slot, c.ride, c.id
	switch {
	case r != nil && !r.done && (p.stopped == nil || r.live == 1) && s.words.Revoke(r.id):
		others := s.unboard(r)
		others = slices.DeleteFunc(others, func(x *Call) bool { return x == c })
		c.state = fresh // it is nowhere
		p.end(c, Result{Err: ErrCanceled})
		return p.putBack(others, time.Now(), nil)
	case r != nil && !r.done && r.live == 1:
		p.press(c, time.Now().Add(p.o.CancelGrace))
		return nil
	case r != nil && !r.done && s.words.Claim(r.id) == ipc.ClaimQueued: // the others would not get a place any more
		p.end(c, Result{Err: ErrCanceled})
	case r != nil:
		begun := r.began
		if !r.done {
			begun = later(r.at, s.freed)
		}
		now := time.Now()
		p.end(c, Result{Err: ErrCanceled, Waited: max(0, begun.Sub(c.since)), Elapsed: now.Sub(begun)})
	default:
		p.end(c, Result{Err: ErrCanceled})
	}
	return p.form(s.drop(id, nil))
}

// expireRiders ends the calls of a slot that are late, and that the model has not begun.
func (p *Pool) expireRiders(s *Slot, late func(*Call) bool, now time.Time, d deliveries) deliveries {
	var rides []*ride // that somebody is on who is late
	for id, c := range s.riders {
		switch {
		case c == nil || !late(c) || s.lost: // Detach deals with those of a lost slot
		case c.ride == nil:
			p.end(c, Result{Err: predict.ErrQueueTimeout})
			d = s.drop(id, d)
		case !c.ride.done && !slices.Contains(rides, c.ride):
			rides = append(rides, c.ride)
		}
	}
	for _, r := range rides {
		onTime := func(c *Call) bool { return !late(c) }
		if p.stopped != nil && slices.ContainsFunc(r.waiting(), onTime) {
			continue // they would not get a place any more
		}
		if s.words.Revoke(r.id) {
			d = p.putBack(s.unboard(r), now, d) // which ends those that are late
		}
	}
	return d
}

// overrun cancels a ride that ran for too long. Called with the lock held.
func (p *Pool) overrun(r *ride, now time.Time) {
	var one *Call
	for _, c := range r.waiting() {
		if !c.canceling {
			c.overtime, c.canceling, one = true, true, c
		}
	}
	if one != nil {
		p.press(one, now.Add(p.o.CancelGrace))
	}
}
