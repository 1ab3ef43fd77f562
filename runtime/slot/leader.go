package slot

import (
	"errors"
	"time"

	"pinion/ipc"
)

// A channel is read by the leader/follower pattern: one of the goroutines that wait at its slots, the leader, reads for
// all of them; the others, the followers, sleep until it wakes them. A channel with followers must always have a leader
// whose goroutine is awake or about to be. So a leader that leaves promotes the next one, and a leader that finds that
// its call has left the channel does the same.

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
	if ch == nil || c.waitsAt(ch) {
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

// waitsAt reports whether a call's answer comes from this channel.
func (c *Call) waitsAt(ch *channel) bool { return c.slot != nil && c.slot.ch == ch && !ch.closed }

// lead reads the channel's socket for all calls there while c, the leader, is one of them. Called with the lock held,
// which it gives back while it reads.
func (ch *channel) lead(c *Call) {
	p := c.pool
	for c.waitsAt(ch) {
		ch.pollFor(c.slot)
		p.mu.Unlock()
		err := ch.conn.RecvWhile(ch.budget, ch.onFrame, ch.onRead)
		if errors.Is(err, ipc.ErrInterrupted) {
			err = nil
		}
		if err == nil {
			err, ch.fault = ch.fault, nil
		}
		ch.afterFrames()

		p.mu.Lock()
		if err != nil {
			ch.slots[0].closeWith(err)
		}
	}
}

// afterRead does what the frames that were read together led to. again means that the leader reads on.
func (ch *channel) afterRead(blocked bool) (budget time.Duration, again bool) {
	ch.afterFrames()
	p := ch.polling.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	ch.polling.polled(ch.budget, blocked)
	if ch.fault != nil || !ch.leader.waitsAt(ch) {
		return 0, false
	}
	ch.pollFor(ch.leader.slot)
	return ch.budget, true
}

// pollFor sets the budget by a slot. Called with the lock held.
func (ch *channel) pollFor(s *Slot) { ch.polling, ch.budget = s, s.pollBudget() }
