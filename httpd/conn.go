package httpd

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"
	"golang.org/x/sys/unix"
)

// connPhase is where a connection stands.
type connPhase uint32

const (
	connFresh     connPhase = iota // accepted; no byte has come
	connIdle                       // between requests
	connParked                     // the same, and fasthttp has done with it; see parking
	connActive                     // a request is being read, carried out or answered
	connLingering                  // answered for the last time; what still comes is thrown away
	connClosed                     // closed
	connPhases
)

// connMoves is the one table of legal moves: connMoves[from] has a bit for each legal target.
var connMoves = [connPhases]uint32{
	connFresh:     1<<connActive | 1<<connClosed,
	connIdle:      1<<connActive | 1<<connParked | 1<<connClosed,
	connParked:    1<<connIdle | 1<<connClosed,
	connActive:    1<<connIdle | 1<<connLingering | 1<<connClosed,
	connLingering: 1 << connClosed,
}

const (
	writePiece    = 256 << 10        // most bytes of one write under one deadline
	bodyRate      = 4 << 10          // bytes of a body that earn another second
	lingerTotal   = 30 * time.Second // longest wait for a client to stop sending
	lingerSilence = 5 * time.Second  // and longest wait for its next byte
	lingerClosing = time.Second      // both, while the server is closing
)

// conn is a connection as fasthttp sees it. Beside what net.Conn does it keeps the raw descriptor
// and the place for the client-gone watch, so that a request allocates neither; sets deadlines only
// when they matter; and closes in a way that lets the client read the last answer.
//
// Only the goroutine that serves it calls its methods, but for kill and abort.
type conn struct {
	net.Conn
	srv   *Server
	fd    int32 // -1 where there is none; valid until Close
	phase atomic.Uint32
	watch watch

	// fasthttp asks for a new deadline twice a request, and each costs a runtime timer. So the wish is
	// noted, and applied before a read and only where it differs from the one in force by the slack.
	readWish, readSet time.Time
	writeSet          time.Time
	between           bool // fasthttp has done with a request and not begun another
	linger            bool // the client may still be sending

	framing framing
	handled uint64 // requests that reached a handler
	late    bool   // a read has run into its deadline

	quiet   atomic.Bool // no byte has come since a sweep found it idle
	nudging sync.Mutex
	nudged  bool         // guarded by nudging: the deadline in force was set by nudge
	parked  int32        // guarded by parking.mu: which parking this is
	until   atomic.Int64 // while parked: when it has been idle for long enough, in nanoseconds from Server.began
}

func newConn(s *Server, nc net.Conn) *conn {
	c := &conn{Conn: nc, srv: s, fd: -1}
	if sc, ok := nc.(syscall.Conn); ok {
		if rc, err := sc.SyscallConn(); err == nil {
			rc.Control(func(fd uintptr) { c.fd = int32(fd) })
		}
	}
	c.watch.fd = c.fd
	return c
}

// move takes c to another phase, where the table allows it.
func (c *conn) move(to connPhase) bool {
	for {
		from := c.phase.Load()
		if connMoves[from]&(1<<to) == 0 {
			return false
		}
		if c.phase.CompareAndSwap(from, uint32(to)) {
			return true
		}
	}
}

func (c *conn) is(p connPhase) bool { return connPhase(c.phase.Load()) == p }

// connState follows fasthttp from request to request. It only notes: a connection is idle once the next
// request has to be waited for (Read), because until then answers to pipelined requests may lie in
// fasthttp's buffer. For the same reason a first request is told by its first byte: fasthttp calls a
// silent connection active.
func connState(nc net.Conn, state fasthttp.ConnState) {
	if c, ok := nc.(*conn); ok && state != fasthttp.StateClosed { // it may be parked, and served again by now
		c.between = state == fasthttp.StateIdle
	}
}

func (c *conn) SetReadDeadline(t time.Time) error {
	c.readWish = t
	return nil
}

func (c *conn) Read(p []byte) (int, error) {
	if c.framing.err != "" {
		return 0, c.framing.err
	}
	if c.between {
		// In this order: a Shutdown that found the connection active has set closing before.
		if c.move(connIdle); c.srv.closing.Load() {
			return 0, io.EOF
		}
	}
	n, err := c.read(p)
	for err != nil && n == 0 && c.wasNudged(err) {
		c.readSet = time.Time{}
		c.until.Store(int64(c.readWish.Sub(c.srv.began)))
		if c.between && c.move(connParked) {
			return 0, io.EOF // fasthttp now closes it, which parks it
		}
		n, err = c.read(p)
	}
	if n > 0 {
		if !c.is(connActive) && !c.move(connActive) {
			return 0, net.ErrClosed // killed: the request must not begin
		}
		c.between = false
		if c.quiet.Load() {
			c.quiet.Store(false)
		}
		c.readWish = c.readWish.Add(time.Duration(n) * time.Second / bodyRate)
		if n = c.framing.follow(p[:n]); c.framing.err != "" && n == 0 {
			return 0, c.framing.err
		}
		return n, nil // an error comes again
	}
	var netErr net.Error
	c.late = errors.As(err, &netErr) && netErr.Timeout()
	return n, err
}

// whole tells whether the request that a handler has got last has come to its end. fasthttp takes a chunked body without
// its last line for whole, be it that the client has left or that it stalls.
func (c *conn) whole() bool { return c.framing.ended >= c.handled }

// hasSeen tells whether a request may have one of these headers: those of connections that are not ours may have any.
func hasSeen(ctx *fasthttp.RequestCtx, headers seenHeaders) bool {
	c, ok := ctx.Conn().(*conn)
	return !ok || c.framing.seen&headers != 0
}

// begin counts a request that a handler has got, and tells whether it is to be the connection's last.
func (c *conn) begin() (last bool) {
	c.handled++
	return c.framing.lastAt != 0 && c.handled >= c.framing.lastAt
}

// read reads under the deadline that is wished for.
func (c *conn) read(p []byte) (int, error) {
	if len(c.watch.ahead) > 0 {
		return c.srv.gone.take(&c.watch, p), nil
	}
	if d := c.readWish.Sub(c.readSet); d > c.srv.slack || d < -c.srv.slack {
		if err := c.Conn.SetReadDeadline(c.readWish); err != nil {
			return 0, err
		}
		c.readSet = c.readWish
	}
	return c.Conn.Read(p)
}

func (c *conn) Write(p []byte) (int, error) {
	written := 0
	for {
		timeout := c.srv.opt.WriteTimeout
		if now := time.Now(); c.writeSet.Sub(now) < timeout/2 {
			c.writeSet = now.Add(timeout)
			if err := c.Conn.SetWriteDeadline(c.writeSet); err != nil {
				return written, err
			}
		}
		n, err := c.Conn.Write(p[:min(len(p), writePiece)])
		written += n
		p = p[n:]
		if err != nil || len(p) == 0 {
			return written, err
		}
	}
}

// Close closes the connection for good. Closing a socket with unread bytes in it resets the
// connection, and the reset throws away what the client has not yet read: so where there are any, it
// ends the sending side, and waits a while for the client to end its own. One that is to be parked stays open.
func (c *conn) Close() error {
	if c.is(connParked) && c.srv.parking.add(c) {
		return nil
	}
	if c.is(connActive) && (c.linger || c.unread()) && c.move(connLingering) {
		total, silence := lingerTotal, lingerSilence
		if c.srv.closing.Load() {
			total, silence = lingerClosing, lingerClosing
		}
		drain(c.Conn, total, silence)
	}
	c.move(connClosed)
	c.srv.gone.dropAhead(&c.watch, len(c.watch.ahead))
	err := c.Conn.Close()
	c.srv.forget(c)
	return err
}

// unread tells whether bytes lie in the socket. Only while active: then nobody else closes it.
func (c *conn) unread() bool {
	if c.fd < 0 {
		return false
	}
	n, err := unix.IoctlGetInt(int(c.fd), unix.SIOCINQ)
	return err == nil && n > 0 || len(c.watch.ahead) > 0
}

// kill ends a connection that has no request under way; the goroutine that serves it then closes it. Where it
// is parked it has none: true, and the caller forgets it. Safe from any goroutine.
func (c *conn) kill() (parked bool) {
	for {
		from := connPhase(c.phase.Load())
		switch {
		case from == connActive || from == connClosed:
			return false
		case from == connParked:
			if c.srv.parking.evict(c) {
				return true
			}
		case c.phase.CompareAndSwap(uint32(from), uint32(connClosed)):
			c.Conn.Close()
			return false
		}
	}
}

// abort breaks off a write that waits for a client that has left. Safe from any goroutine, as long as c is
// not closed: the watch on c, whose end waits for this, makes sure of that.
func (c *conn) abort() { c.Conn.SetWriteDeadline(time.Unix(1, 0)) }

// drain ends the sending side of nc and reads until the other side has ended its own, at most total
// and at most silence without a byte. Connections that cannot be half closed are left alone.
func drain(nc net.Conn, total, silence time.Duration) {
	half, ok := nc.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	end := time.Now().Add(total)
	buf := make([]byte, 64<<10)
	for {
		deadline := time.Now().Add(silence)
		if deadline.After(end) {
			deadline = end
		}
		if nc.SetReadDeadline(deadline) != nil {
			return
		}
		if _, err := nc.Read(buf); err != nil {
			return
		}
	}
}
