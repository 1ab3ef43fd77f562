package grpc

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc/peer"

	"pinion/runtime/connlimit"
	"pinion/runtime/memory"
)

// connCost is what a connection takes in memory while it has no calls: gRPC's buffers and goroutines.
const connCost = 64 << 10

// unreadAfter is how long an answer waits for its client before the connection may be closed for others.
const unreadAfter = time.Second

// conn is a connection as gRPC sees it: it knows its calls, and is within the server's limits.
type conn struct {
	net.Conn
	srv      *Server
	place    connlimit.Place
	arrival  memory.Arrival // the connection while it is idle: it is closed when others need its memory
	writeSet time.Time      // only one goroutine writes
	blocks   headerBlocks   // only one reads

	uncharged bool // counted in Server.uncharged

	mu      sync.Mutex
	closed  bool
	calls   map[*call]struct{}
	watches int
	busy    int       // requests that are being read or run; 0 means the connection is idle
	since   time.Time // when it became idle
	charged int64     // for the connection, its calls and answers
	ending  int64     // charged for calls that have ended since the last write began: gRPC has not written their end
	unsent  int       // answers that gRPC has not written
	written time.Time // when unsent became smaller, or began
}

// listener gives gRPC the connections that the limit has room for.
type listener struct {
	net.Listener
	srv *Server
}

func (l *listener) Accept() (net.Conn, error) {
	for {
		nc, err := l.Listener.Accept()
		if err != nil {
			return nil, err // gRPC tries again after a temporary one
		}
		if config := l.srv.opt.TLS; config != nil {
			nc = secured{tls.Server(nc, config), nc}
		}
		c := &conn{
			Conn: nc, srv: l.srv, calls: map[*call]struct{}{}, since: time.Now(),
			blocks: headerBlocks{skip: prefaceSize},
		}
		if l.srv.adopt(c) {
			return c, nil
		}
		nc.Close()
	}
}

// secured is a connection with TLS. To close it never waits for the client.
type secured struct {
	net.Conn
	socket net.Conn
}

func (s secured) Close() error { return s.socket.Close() }

// adopt registers a connection; false means there is no room for it.
func (s *Server) adopt(c *conn) bool {
	if s.opt.Connections != nil && !s.opt.Connections.Enter(&c.place) {
		return false
	}
	switch {
	case s.opt.Memory.TakeArriving(connCost):
		c.charged = connCost
	case s.uncharged.Load() < freeProbes: // it may be a probe's
		s.uncharged.Add(1)
		c.uncharged = true
	default:
		c.place.Leave()
		return false
	}
	s.opt.Memory.Begin(&c.arrival, func() { c.CloseIdle() })
	c.arrival.Hold(connCost, memory.Large)
	s.conns.add(c)
	return true
}

// RemoteAddr returns an address by which connOf finds the connection.
func (c *conn) RemoteAddr() net.Addr { return remoteAddr{c.Conn.RemoteAddr(), c} }

type remoteAddr struct {
	net.Addr
	conn *conn
}

// connOf returns the connection of a call, or nil if it is not from one of our listeners.
func connOf(ctx context.Context) *conn {
	if p, ok := peer.FromContext(ctx); ok {
		if a, ok := p.Addr.(remoteAddr); ok {
			return a.conn
		}
	}
	return nil
}

// Read reads. After too many frames of a header block it fails, and gRPC closes the connection.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if refused := c.blocks.read(p[:n]); refused != nil {
		return 0, refused
	}
	return n, err
}

// Write writes under a deadline, so that a client that takes no bytes does not hold its answers forever.
func (c *conn) Write(p []byte) (int, error) {
	timeout := c.srv.opt.WriteTimeout
	if now := time.Now(); c.writeSet.Sub(now) < timeout/2 {
		c.writeSet = now.Add(timeout)
		if err := c.Conn.SetWriteDeadline(c.writeSet); err != nil {
			return 0, err
		}
	}
	c.mu.Lock()
	ending := c.ending
	c.ending = 0
	c.mu.Unlock()
	n, err := c.Conn.Write(p)
	if ending != 0 {
		c.mu.Lock()
		c.free(ending)
		c.mu.Unlock()
	}
	return n, err
}

// Close closes the connection and gives back all that it holds.
func (c *conn) Close() error {
	c.mu.Lock()
	first, charged := !c.closed, c.charged
	c.closed = true
	for k := range c.calls {
		c.drop(k)
	}
	c.mu.Unlock()
	if first {
		c.arrival.End()
		c.srv.opt.Memory.Free(charged)
		c.srv.conns.remove(c)
		if c.uncharged {
			c.srv.uncharged.Add(-1)
		}
		defer c.place.Leave()
	}
	return c.Conn.Close()
}

// CloseIdle closes the connection unless it has a whole request whose client reads its answers, and reports whether it
// did. Streams without a request do not count.
func (c *conn) CloseIdle() bool {
	c.mu.Lock()
	_, receives := c.receives()
	idle := !c.closed && (c.busy == 0 || receives || c.waits(unreadAfter))
	c.mu.Unlock()
	if idle {
		c.Close()
	}
	return idle
}

// receives reports whether all requests are being read, and when the last of them is due. Called with the lock held.
func (c *conn) receives() (due time.Time, yes bool) {
	latest := int64(0)
	for k := range c.calls {
		if k.busy > 0 {
			at := k.due.Load()
			if at == 0 {
				return time.Time{}, false
			}
			latest = max(latest, at)
		}
	}
	return time.Unix(0, latest), latest != 0
}

// work changes how many requests are being read or run. Called with the lock held.
func (c *conn) work(n int) {
	before := c.busy
	c.busy += n
	switch {
	case c.closed:
	case before == 0 && n > 0:
		c.arrival.Hold(0, 0)
	case c.busy == 0:
		c.since = time.Now()
		c.arrival.Hold(c.charged, memory.Large)
	}
}

// take charges n bytes to the memory budget until free or Close.
func (c *conn) take(n int64) bool {
	if !c.srv.opt.Memory.Take(n, n) {
		return false
	}
	c.keep(n)
	return true
}

// keep takes over n bytes that were charged.
func (c *conn) keep(n int64) {
	c.mu.Lock()
	closed := c.closed
	if !closed {
		c.charged += n
	}
	c.mu.Unlock()
	if closed {
		c.srv.opt.Memory.Free(n)
	}
}

// free gives n bytes back. Called with the lock held.
func (c *conn) free(n int64) {
	if !c.closed {
		c.charged -= n
		c.srv.opt.Memory.Free(n)
	}
}

// conns are the open connections of a server.
type conns struct {
	mu    sync.Mutex
	set   map[*conn]struct{}
	sweep *time.Timer // runs while there are connections
	every time.Duration
}

func (cs *conns) add(c *conn) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.set[c] = struct{}{}; len(cs.set) == 1 {
		cs.sweep.Reset(cs.every)
	}
}

func (cs *conns) remove(c *conn) {
	cs.mu.Lock()
	delete(cs.set, c)
	cs.mu.Unlock()
}

func (cs *conns) list() []*conn {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	list := make([]*conn, 0, len(cs.set))
	for c := range cs.set {
		list = append(list, c)
	}
	return list
}

// idle returns the connections without a whole request, and those whose clients do not read, for Options.Connections.
func (s *Server) idle() (found []connlimit.Idle) {
	for _, c := range s.conns.list() {
		c.mu.Lock()
		due, receives := c.receives()
		candidate := connlimit.Idle{Since: c.since, Peer: connlimit.PeerOf(c.Conn.RemoteAddr()), Conn: c}
		switch {
		case c.closed:
		case receives:
			candidate.Receiving, candidate.Since = true, due.Add(-s.opt.Silence)
			found = append(found, candidate)
		case c.waits(unreadAfter):
			candidate.Blocked, candidate.Since = true, c.written
			found = append(found, candidate)
		case c.busy == 0 && c.unsent == 0:
			found = append(found, candidate)
		}
		c.mu.Unlock()
	}
	return found
}

// sweep ends calls whose clients are silent, and connections whose clients take nothing of an answer.
func (s *Server) sweep() {
	now := time.Now()
	list := s.conns.list()
	for _, c := range list {
		if c.overdue(now) {
			c.Close()
		}
	}
	if len(list) > 0 {
		s.conns.sweep.Reset(s.conns.every)
	}
}

// overdue ends the calls that are overdue, forgets those that have ended without a handler, and reports whether the
// client takes nothing of an answer.
func (c *conn) overdue(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k := range c.calls {
		switch due := k.due.Load(); {
		case k.ctx.Err() != nil && !k.handled:
			c.drop(k)
		case due != 0 && now.UnixNano() > due:
			k.cancel(errSilent)
		}
	}
	return c.waits(c.srv.opt.WriteTimeout)
}

// waits reports whether no answer has been written for d although some are pending. Called with the lock held.
func (c *conn) waits(d time.Duration) bool { return c.unsent > 0 && time.Since(c.written) > d }

// drop removes a call and ends its charge. Called with the lock held.
func (c *conn) drop(k *call) {
	if !k.ended {
		c.forget(k)
		c.free(k.cost)
	}
}

// forget removes a call. Called with the lock held.
func (c *conn) forget(k *call) {
	k.ended = true
	delete(c.calls, k)
	if k.watch {
		c.watches--
		c.srv.watches.Add(-1)
	}
	if k.probe {
		c.srv.probes.Add(-1)
	}
}
