package slot

import (
	"errors"

	"pinion/ipc"
)

// A slot's socket is read by the leader/follower pattern: one of the goroutines that wait at the slot, the leader,
// reads for all of them; the others, the followers, sleep until it wakes them. A slot with followers must always have a
// leader whose goroutine is awake or about to be. So a leader that leaves promotes the next one, and a leader that
// finds that its call has left the slot does the same.

// attend makes a call's goroutine wait at this channel, if it sleeps already.
func (ch *channel) attend(c *Call) {
	switch {
	case !c.waiter.parked:
	case ch.leader != nil:
		ch.follow(c)
	default:
		ch.promote(c) // the socket needs a reader
	}
}

// follow adds c to the followers, which the leader wakes.
func (ch *channel) follow(c *Call) {
	if !c.waiter.following {
		ch.followers.pushBack(c)
		c.waiter.following = true
	}
}

func (ch *channel) unfollow(c *Call) {
	if c.waiter.following {
		ch.followers.remove(c)
		c.waiter.following = false
	}
}

func (ch *channel) promote(c *Call) {
	ch.unfollow(c)
	ch.leader, c.waiter.leads = c, ch
	if c.waiter.parked {
		c.wake()
	}
}

// stepDown promotes the next follower of the channel that c leads, unless c is still at that slot.
func (c *Call) stepDown() {
	ch := c.waiter.leads
	if ch == nil || c.slot != nil && ch == &c.slot.ch && !ch.closed {
		return
	}
	ch.leader, c.waiter.leads = nil, nil
	if next := ch.followers.head; next != nil && !ch.closed {
		ch.promote(next)
	}
}

// demote makes c, which has left the slot, give up the lead.
func (ch *channel) demote(c *Call) {
	switch {
	case ch.leader != c:
	case c.waiter.parked: // promoted, but not awake yet
		c.stepDown()
	default:
		ch.conn.Interrupt()
	}
}

// lead reads the slot's socket for all calls there while c, the leader, is one of them. Called with the lock held,
// which it gives back while it reads.
func (s *Slot) lead(c *Call) {
	p := s.pool
	for c.slot == s && !s.ch.closed {
		budget := s.pollBudget()
		p.mu.Unlock()
		blocked, err := s.ch.conn.RecvBusyPoll(budget, s.ch.onFrame)
		if errors.Is(err, ipc.ErrInterrupted) {
			err = nil
		}
		if err == nil {
			err, s.ch.fault = s.ch.fault, nil
		}
		s.ch.afterFrames()

		p.mu.Lock()
		s.polled(budget, blocked)
		if err != nil {
			s.closeWith(err)
		}
	}
}
