package transport

import (
	"sync/atomic"
	"time"

	"pinion/runtime/memory"
)

const (
	// blockedAfter is how long a write waits for its client before the connection may be cut for others.
	blockedAfter = time.Second
	// blockedCost is about how much memory an answer takes that its client does not read. A stream is charged at least
	// that.
	blockedCost = 64 << 10
)

// blockedWrite is a write that waits for its client. If that takes long, the connection is cut when others wait for
// memory, or for a connection.
type blockedWrite struct {
	since   atomic.Int64 // of the write in progress, in nanoseconds since Transport.began; 0 means none
	offered atomic.Bool  // arrival is not nil; written under Conn.wakeMu
	arrival *memory.Arrival
}

// waiting returns since when a write has been waiting for long; 0 means none has.
func (w *blockedWrite) waiting(now int64) int64 {
	if since := w.since.Load(); since != 0 && now-since > int64(blockedAfter) {
		return since
	}
	return 0
}

// offerBlocked lets the connection be cut until its write has ended. Safe from any goroutine.
func (c *Conn) offerBlocked() {
	a := new(memory.Arrival)
	own := a
	c.t.opt.Memory.Begin(a, func() {
		c.wakeMu.Lock()
		defer c.wakeMu.Unlock()
		if c.blocked.arrival == own {
			c.Abort()
		}
	})
	a.Hold(blockedCost, -1)
	c.wakeMu.Lock()
	if c.blocked.arrival == nil {
		c.blocked.offered.Store(true) // before since is read: endWrite uses them in the other order
		if c.blocked.since.Load() != 0 {
			c.blocked.arrival, a = a, nil
		} else {
			c.blocked.offered.Store(false)
		}
	}
	c.wakeMu.Unlock()
	if a != nil {
		a.End()
	}
}

// cutBlocked ends the connection if a write has been waiting for long, and reports whether it did. Safe from any
// goroutine.
func (c *Conn) cutBlocked() bool {
	c.wakeMu.Lock()
	defer c.wakeMu.Unlock()
	c.blocked.offered.Store(true) // as offerBlocked does: a write that ends now waits for the lock
	defer func() { c.blocked.offered.Store(c.blocked.arrival != nil) }()
	if c.blocked.waiting(int64(c.t.now())) == 0 {
		return false
	}
	c.Abort()
	c.endReads() // if that write has just ended, no other request is read either
	return true
}
