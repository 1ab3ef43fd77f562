package slot

import (
	"slices"
	"time"

	"pinion/runtime/predict"
)

// expireInterval is the least time between two searches for late calls: each search goes through the whole queue.
const expireInterval = time.Millisecond

// freeSlotWait is how long a call may wait at a free slot if QueueTimeout is less. A sleeping worker takes milliseconds
// to wake up on a busy machine, which is no time in a queue.
const freeSlotWait = time.Second

// deadlines is the timer for the first deadline of all calls. Guarded by pool.mu.
type deadlines struct {
	timer *time.Timer // nil if there is no deadline
	at    time.Time
}

// setDeadline sets a call's deadline. free means that a free slot gets the call.
func (p *Pool) setDeadline(c *Call, now time.Time, free bool) {
	c.deadline = c.Deadline
	if wait := p.o.QueueTimeout; wait > 0 {
		if free {
			wait = max(wait, freeSlotWait)
		}
		if latest := now.Add(wait); c.deadline.IsZero() || latest.Before(c.deadline) {
			c.deadline = latest
		}
	}
	if !c.deadline.IsZero() {
		c.batch.item.Deadline = p.batches.sinceOrigin(c.deadline)
		p.expireAt(c.deadline, now)
	}
}

// expireAt makes the timer call expireLate at t.
func (p *Pool) expireAt(t, now time.Time) {
	switch {
	case p.deadlines.timer == nil:
		p.deadlines.timer = time.AfterFunc(t.Sub(now), func() { p.locked(p.expireLate) })
	case t.Before(p.deadlines.at):
		p.deadlines.timer.Reset(t.Sub(now))
	default:
		return
	}
	p.deadlines.at = t
}

// expireLate ends the calls whose deadline has passed and that the model has not begun.
func (p *Pool) expireLate() (d deliveries) {
	p.deadlines.timer = nil
	now := time.Now()
	var next time.Time
	late := func(c *Call) bool {
		if c.deadline.IsZero() {
			return false
		}
		if c.deadline.After(now) {
			if next.IsZero() || c.deadline.Before(next) {
				next = c.deadline
			}
			return false
		}
		return true
	}
	for c := p.admission.queue.head; c != nil; {
		after := c.next
		if late(c) {
			p.end(c, Result{Err: predict.ErrQueueTimeout})
		}
		c = after
	}
	for _, s := range p.slots {
		for _, c := range s.window.calls {
			if c != nil && s.isAdmitted(c, now) {
				c.deadline = c.Deadline
			}
			if c != nil && late(c) && !s.ch.closed && s.words.Revoke(c.id) {
				p.end(c, Result{Err: predict.ErrQueueTimeout})
			}
		}
		if s.worker.batching == nil {
			d = s.refill(d)
		} else {
			d = p.expireItems(s, late, now, d)
		}
	}
	d = p.batches.dispatch(d)
	if !next.IsZero() {
		p.expireAt(later(next, now.Add(expireInterval)), now)
	}
	return d
}

// isAdmitted reports whether a late call has a slot, but its worker runs another call and has not taken it, as with an
// async model that blocks its loop. Only its own deadline ends such a call.
func (s *Slot) isAdmitted(c *Call, now time.Time) bool {
	if c.deadline.IsZero() || c.deadline.After(now) || s.worker.batching != nil {
		return false
	}
	for _, other := range s.window.calls {
		if other != nil && other.id < c.id {
			return false
		}
	}
	return slices.ContainsFunc(s.worker.slots,
		func(x *Slot) bool { return x != s && !x.ch.closed && x.has(x.words.Running()) })
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
