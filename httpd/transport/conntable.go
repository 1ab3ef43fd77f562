package transport

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// connTable has the open connections. mu guards the other fields.
type connTable struct {
	many      atomic.Bool  // more than Options.ParkAbove are open; written under mu
	count     atomic.Int64 // of open; written under mu
	mu        sync.Mutex
	open      map[*Conn]struct{}
	listeners []net.Listener
	rejecting int32 // refused connections that are still being answered
	sweeping  bool
	sweeper   *time.Timer
}

// now returns the time since began.
func (t *Transport) now() time.Duration { return time.Since(t.began) }

// countOpen notes how many connections are open. Called with the lock held.
func (t *Transport) countOpen() {
	n := len(t.conns.open)
	t.conns.many.Store(n > t.opt.ParkAbove)
	t.conns.count.Store(int64(n))
}

// forget removes a closed connection.
func (t *Transport) forget(c *Conn) {
	t.conns.mu.Lock()
	defer t.conns.mu.Unlock()
	if _, known := t.conns.open[c]; !known {
		return
	}
	delete(t.conns.open, c)
	t.countOpen()
	c.place.Leave()
	if t.closing.Load() && len(t.conns.open) == 0 {
		close(t.drained)
	}
}
