package transport

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

	"pinion/runtime/connlimit"
	"pinion/runtime/memory"
	"pinion/runtime/moves"
)

// connPhase is the state of a connection.
type connPhase uint32

const (
	connFresh     connPhase = iota // accepted; no byte received
	connIdle                       // between requests
	connParked                     // fresh or idle, without a goroutine of fasthttp; see parking
	connActive                     // a request is being read, run or answered
	connLingering                  // the last answer is sent; received bytes are discarded
	connClosed
	connPhases
)

// connMoves is the table of legal moves.
var connMoves = moves.Table[connPhase]{
	connFresh:     1<<connActive | 1<<connParked | 1<<connClosed,
	connIdle:      1<<connActive | 1<<connParked | 1<<connClosed,
	connParked:    1<<connIdle | 1<<connClosed,
	connActive:    1<<connIdle | 1<<connLingering | 1<<connClosed,
	connLingering: 1 << connClosed,
}

const (
	MaxWrite      = 256 << 10        // most bytes of one write under one deadline
	bodyRate      = 4 << 10          // bytes of a body that add a second to the deadline
	lingerTotal   = 30 * time.Second // longest wait for the client to stop sending
	lingerSilence = 5 * time.Second  // longest wait for its next byte
	maxLingering  = 256              // connections that linger at once; each takes a descriptor, a goroutine and a buffer
	lingerClosing = time.Second      // both, while the server is closing
)

// Conn is a connection as fasthttp sees it. It keeps the raw descriptor and the disconnect watch, so that a request
// allocates neither, sets few deadlines, and closes so that the client can read the last answer.
//
// Only the goroutine that serves it calls its methods, except kill, Abort and wakeRead. Once it has switched protocols,
// one goroutine reads and another writes.
type Conn struct {
	net.Conn               // the socket
	stream   io.ReadWriter // requests and answers: the socket, or TLS over it
	t        *Transport
	fd       int32 // -1 means none; valid until Close
	phase    atomic.Uint32
	watch    Watch
	place    connlimit.Place

	// Deadlines, as Transport.now. A deadline costs a runtime timer, so readWanted is applied before a read, and only if
	// it differs from readSet, the one in force, by more than Transport.deadlineTolerance.
	readWanted, readSet time.Duration
	writeSet            time.Duration
	begun               bool   // fasthttp has begun a request, which has no deadline yet: its next read sets it
	between             bool   // fasthttp has finished a request and not begun another
	linger              bool   // the client may still be sending
	switched            func() // serves the connection from now on; nil means that fasthttp does

	framing framing
	handled uint64 // requests that reached a handler
	late    bool   // a read exceeded its deadline

	arrival memory.Arrival
	// arrival has begun; written under wakeMu, and only by the goroutine that serves the connection
	arriving    bool
	charged     int64       // by arrival
	headCharged bool        // HeadCost is charged
	inUse       int64       // bytes that are charged for the request in flight; see ChargeInUse
	answer      int64       // bytes that are charged for its answer; see HoldAnswer
	noRoom      bool        // see errNoRoom
	slow        atomic.Bool // see ErrSlow

	blocked   blockedWrite
	receiving atomic.Int64 // while a read waits for the rest of a request: its deadline, in the unit of since; else 0

	quiet  atomic.Bool // no byte received since a sweep found it idle
	wakeMu sync.Mutex
	woken  bool         // guarded by wakeMu: wakeRead set the deadline in force
	parked int32        // guarded by parking.mu: the generation of this parking
	since  atomic.Int64 // while idle: since when, in nanoseconds since Transport.began
	until  atomic.Int64 // while parked: when its timeout ends, in the unit of since
}

func newConn(t *Transport, nc net.Conn) *Conn {
	c := &Conn{Conn: nc, stream: nc, t: t, fd: -1}
	c.since.Store(int64(t.now()))
	if sc, ok := nc.(syscall.Conn); ok {
		if rc, err := sc.SyscallConn(); err == nil {
			_ = rc.Control(func(fd uintptr) { c.fd = int32(fd) })
		}
	}
	c.watch.fd = c.fd
	if t.opt.TLS != nil {
		c.secure(t.opt.TLS)
	}
	return c
}

// move changes c's phase if the table allows it, and reports whether it did.
func (c *Conn) move(to connPhase) bool {
	for {
		from := c.phase.Load()
		if !connMoves.Allows(connPhase(from), to) {
			return false
		}
		if c.phase.CompareAndSwap(from, uint32(to)) {
			return true
		}
	}
}

func (c *Conn) is(p connPhase) bool { return connPhase(c.phase.Load()) == p }

// connState records fasthttp's state. The phase changes in Read: a connection is idle only when Read waits for the next
// request, because until then answers to pipelined requests may be in fasthttp's buffer. A first request begins with
// its first byte: fasthttp calls a silent connection active.
func connState(nc net.Conn, state fasthttp.ConnState) {
	if c, ok := nc.(*Conn); ok && state != fasthttp.StateClosed { // when closed, it may be parked, or already served again
		c.between = state == fasthttp.StateIdle
		c.begun = state == fasthttp.StateActive
	}
}

func (c *Conn) Read(p []byte) (int, error) {
	if c.framing.err != "" {
		return 0, c.framing.err
	}
	switch {
	case c.between:
		c.freeInUse()
		now := c.t.now()
		c.readWanted = now + c.t.opt.IdleTimeout
		// In this order: a Shutdown that found the connection active has already set closing.
		c.since.Store(int64(now))
		if c.move(connIdle); c.t.closing.Load() || c.parkAtOnce() {
			return 0, io.EOF
		}
	case c.begun:
		c.begun = false
		c.readWanted = c.t.now() + c.t.opt.HeaderTimeout
	}
	if err := c.chargeHead(); err != nil {
		return 0, err
	}
	receiving := c.is(connActive)
	if receiving {
		c.receiving.Store(int64(c.readWanted))
	}
	n, err := c.read(p)
	if receiving {
		c.receiving.Store(0)
	}
	for err != nil && n == 0 && c.wasWoken(err) {
		c.readSet = 0
		c.until.Store(int64(c.readWanted))
		if c.between && c.move(connParked) {
			return 0, io.EOF // fasthttp calls Close, which parks it
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
		c.readWanted += time.Duration(n) * time.Second / bodyRate
		if c.arriving {
			c.arrival.Came(n)
		}
		if n = c.framing.follow(p[:n]); c.framing.err != "" && n == 0 {
			return 0, c.framing.err
		}
		if c.headCharged && !c.framing.inHead() {
			c.freeHead()
		}
		return n, nil // the next Read returns the error again
	}
	switch {
	case c.slow.Load():
		return n, ErrSlow
	case n == 0 && c.is(connClosed):
		return 0, io.EOF // killed
	}
	var netErr net.Error
	c.late = errors.As(err, &netErr) && netErr.Timeout()
	return n, err
}

// Whole reports whether the current request was received completely. fasthttp accepts a chunked body without its last
// line, after a disconnect or a stall.
func (c *Conn) Whole() bool { return c.framing.ended >= c.handled }

// HasSeen reports whether a request may have one of these headers. On connections that are not ours it may have any.
func HasSeen(ctx *fasthttp.RequestCtx, headers SeenHeaders) bool {
	c, ok := ctx.Conn().(*Conn)
	return !ok || c.framing.seen&headers != 0
}

// Refusal is why the connection ends before its request has reached a handler.
type Refusal int

// The refusals. NotRefused means that fasthttp found what is wrong.
const (
	NotRefused Refusal = iota
	Slow               // the client sent slowly while memory or connections were short
	NoMemory           // the memory budget has no room for the header
	Late               // a read exceeded its deadline
	Malformed          // see Conn.FramingError
)

// Refusal says why the request that is being received was refused.
func (c *Conn) Refusal() Refusal {
	switch {
	case c.slow.Load():
		return Slow
	case c.noRoom:
		return NoMemory
	case c.late:
		return Late
	case c.framing.err != "":
		return Malformed
	}
	return NotRefused
}

// FramingError says what is ambiguous about the bytes that came; "" means nothing.
func (c *Conn) FramingError() FramingError { return c.framing.err }

// Linger lets the client read the last answer while it is still sending.
func (c *Conn) Linger() { c.linger = true }

// ExtendRead adds to the time that the client has for sending.
func (c *Conn) ExtendRead(d time.Duration) { c.readWanted += d }

// ResetWriteDeadline makes the next write set its deadline, for a caller that has removed it.
func (c *Conn) ResetWriteDeadline() { c.writeSet = 0 }

// Begin counts a request, and reports whether it is the connection's last.
func (c *Conn) Begin() (last bool) {
	c.handled++
	return c.framing.lastAt != 0 && c.handled >= c.framing.lastAt
}

// read reads under the deadline readWanted.
func (c *Conn) read(p []byte) (int, error) {
	if len(c.watch.unread) > 0 && !c.isSecured() {
		return c.t.watcher.take(&c.watch, p), nil
	}
	if d := c.readWanted - c.readSet; d > c.t.deadlineTolerance || d < -c.t.deadlineTolerance {
		if err := c.Conn.SetReadDeadline(c.t.began.Add(c.readWanted)); err != nil {
			return 0, err
		}
		c.readSet = c.readWanted
	}
	if c.slow.Load() { // after the deadline, which cut sets after slow
		return 0, ErrSlow
	}
	if err := c.watch.feed.stopped(); err != nil { // likewise
		return 0, err
	}
	return c.stream.Read(p)
}

func (c *Conn) Write(p []byte) (int, error) {
	written := 0
	for {
		timeout, now := c.t.opt.WriteTimeout, c.t.now()
		if c.writeSet-now < timeout/2 {
			c.writeSet = now + timeout
			if err := c.Conn.SetWriteDeadline(c.t.began.Add(c.writeSet)); err != nil {
				return written, err
			}
		}
		c.blocked.since.Store(int64(now))
		n, err := c.stream.Write(p[:min(len(p), MaxWrite)])
		c.endWrite()
		written += n
		p = p[n:]
		if err != nil || len(p) == 0 {
			return written, err
		}
	}
}

// CanTry reports whether TryWrite may be called.
func (c *Conn) CanTry() bool { return c.fd >= 0 && !c.isSecured() }

// TryWrite writes what the socket takes at once, and returns how much: 0 after an error, which the next Write has again.
// Another goroutine may call it while the one that serves c waits for that goroutine.
func (c *Conn) TryWrite(p []byte) int {
	n, _ := unix.Write(int(c.fd), p)
	return max(n, 0)
}

// Close closes the connection, or parks it. Closing a socket with unread bytes resets the connection, and the client
// loses what it has not yet read. So with unread bytes Close ends the sending side, and waits briefly for the client to
// end its own.
func (c *Conn) Close() error {
	if c.is(connParked) && c.t.parking.add(c) {
		return nil
	}
	if serve := c.switched; serve != nil {
		c.switched = nil
		go serve()
		return nil
	}
	c.freeHead() // fasthttp has released its buffers
	c.freeInUse()
	if s, is := c.stream.(*secured); is {
		s.sayEnd()
	}
	if c.is(connActive) && (c.linger || c.unread()) && c.t.lingering.Load() < c.t.maxLingering && c.move(connLingering) {
		c.t.lingering.Add(1)
		if c.slow.Load() {
			c.place.Leave() // another may wait for it
		}
		total, silence := lingerTotal, lingerSilence
		if c.t.closing.Load() {
			total, silence = lingerClosing, lingerClosing
		}
		drain(c.Conn, total, silence)
		c.t.lingering.Add(-1)
	}
	c.move(connClosed)
	c.t.watcher.dropAhead(&c.watch, len(c.watch.unread))
	err := c.Conn.Close()
	c.t.forget(c)
	return err
}

// unread reports whether the socket has unread bytes. Only while active: then no other goroutine closes it.
func (c *Conn) unread() bool {
	if c.fd < 0 {
		return false
	}
	n, err := unix.IoctlGetInt(int(c.fd), unix.SIOCINQ)
	return err == nil && n > 0 || len(c.watch.unread) > 0
}

// kill ends a connection without a request in flight; the goroutine that serves it then closes it. A parked connection
// has no goroutine: kill closes it and returns true, and the caller forgets it. Safe from any goroutine.
func (c *Conn) kill() (parked bool) {
	for {
		from := connPhase(c.phase.Load())
		switch {
		case from == connActive || from == connClosed:
			return false
		case from == connParked:
			if c.t.parking.evict(c) {
				return true
			}
		case c.phase.CompareAndSwap(uint32(from), uint32(connClosed)):
			c.Conn.Close()
			return false
		}
	}
}

// Abort interrupts a write to a client that has disconnected. Safe from any goroutine while c is open: the end of the
// watch waits for this call.
func (c *Conn) Abort() { _ = c.Conn.SetWriteDeadline(time.Unix(1, 0)) }

// drain ends the sending side of nc and reads until the other side has ended its own, at most total, and at most
// silence without a byte. It does nothing on connections that cannot be half closed.
func drain(nc net.Conn, total, silence time.Duration) {
	half, ok := nc.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	end := time.Now().Add(total)
	buf := make([]byte, 8<<10)
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
