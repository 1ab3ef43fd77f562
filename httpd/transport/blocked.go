package transport

import (
	"sync/atomic"
	"time"

	"pinion/runtime/memory"
)

const (
	// blockedAfter is how long a write waits for its client before the connection may be cut for others.
	blockedAfter = time.Second
	// blockedCost is about what an answer takes that its client does not read: what a stream is charged at least.
	blockedCost = 64 << 10
)

// blockedWrite is a write that waits for its client. If that takes long, the connection is cut when others wait for memory.
type blockedWrite struct {
	since   atomic.Int64 // of the write in progress, in nanoseconds since Transport.began; 0: none
	offered atomic.Bool  // written under Conn.wakeMu: arrival is not nil
	arrival *memory.Arrival
}

// waits reports whether a write has been waiting for long, and the connection was not offered yet.
func (w *blockedWrite) waits(now int64) bool {
	since := w.since.Load()
	return since != 0 && now-since > int64(blockedAfter) && !w.offered.Load()
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
		c.blocked.offered.Store(true) // before the look at since: the write's end looks in the other order
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

// endWrite notes that a write has ended.
func (c *Conn) endWrite() {
	c.blocked.since.Store(0)
	if !c.blocked.offered.Load() {
		return
	}
	c.wakeMu.Lock()
	a := c.blocked.arrival
	c.blocked.arrival = nil
	c.blocked.offered.Store(false)
	c.wakeMu.Unlock()
	if a != nil {
		a.End()
	}
}
