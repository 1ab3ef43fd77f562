package transport

import (
	"time"

	"pinion/runtime/connlimit"
)

// CloseIdle closes a connection without a whole request in flight, or whose client does not read, and reports whether
// it did: not if it is closed already. Safe from any goroutine.
func (c *Conn) CloseIdle() bool {
	if c.is(connClosed) || c.slow.Load() {
		return false
	}
	switch {
	case c.kill():
		c.t.forget(c)
	case c.is(connClosed) || c.cutReceiving() || c.cutBlocked():
		c.place.Closing() // the goroutine that serves it forgets it
	default:
		return false
	}
	return true
}

// Idle returns the connections without a whole request in flight, and those whose clients do not read, for
// Options.Connections.
func (t *Transport) Idle() (found []connlimit.Idle) {
	now := int64(t.now())
	t.conns.mu.Lock()
	defer t.conns.mu.Unlock()
	for c := range t.conns.open {
		candidate := connlimit.Idle{Peer: connlimit.PeerOf(c.RemoteAddr()), Conn: c}
		if p := connPhase(c.phase.Load()); p != connActive && p != connClosed {
			candidate.Since = t.began.Add(time.Duration(c.since.Load()))
		} else if due := c.receiving.Load(); due != 0 {
			candidate.Receiving, candidate.Since = true, t.began.Add(time.Duration(due)-t.opt.HeaderTimeout)
		} else if since := c.blocked.waiting(now); since != 0 {
			candidate.Blocked, candidate.Since = true, t.began.Add(time.Duration(since))
		} else {
			continue
		}
		found = append(found, candidate)
	}
	return found
}
