package slot

import (
	"time"

	"pinion/runtime/predict"
)

// expireEvery is the least time between two looks for calls whose deadline has passed: each goes through
// the whole queue.
const expireEvery = time.Millisecond

// freeSlotWait is how long a call may wait at a free slot where QueueTimeout is less: that its worker has to wake up is no
// queue, and takes milliseconds on a busy machine.
const freeSlotWait = time.Second

// setDeadline starts the clock of a call. free: it is handed to a free slot. Called with the lock held.
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
		c.item.Deadline = p.moment(c.deadline)
		p.wakeAt(c.deadline, now)
	}
}

// wakeAt sees to it that expire is called then. Called with the lock held.
func (p *Pool) wakeAt(t, now time.Time) {
	switch {
	case p.timer == nil:
		p.timer = time.AfterFunc(t.Sub(now), p.expire)
	case t.Before(p.timerAt):
		p.timer.Reset(t.Sub(now))
	default:
		return
	}
	p.timerAt = t
}

// expire ends the calls whose deadline has passed and that the model has not begun.
func (p *Pool) expire() {
	p.mu.Lock()
	p.timer = nil
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
	for c := p.queue.head; c != nil; {
		after := c.next
		if late(c) {
			p.end(c, Result{Err: predict.ErrQueueTimeout})
		}
		c = after
	}
	var d deliveries
	for _, s := range p.slots {
		for _, c := range s.calls {
			if c != nil && late(c) && !s.lost && s.words.Revoke(c.id) {
				p.end(c, Result{Err: predict.ErrQueueTimeout})
			}
		}
		if s.crew.batch == nil {
			d = s.refill(d)
		} else {
			d = p.expireRiders(s, late, now, d)
		}
	}
	d = p.form(d)
	if !next.IsZero() {
		p.wakeAt(later(next, now.Add(expireEvery)), now)
	}
	p.mu.Unlock()
	d.deliver()
}
