package transport

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"pinion/runtime/connlimit"
	"pinion/tests/assert"

	"github.com/valyala/fasthttp"
)

// TestConn_Moves walks every pair of phases.
func TestConn_Moves(t *testing.T) {
	legal := map[[2]connPhase]bool{
		{connFresh, connActive}: true, {connFresh, connParked}: true, {connFresh, connClosed}: true,
		{connIdle, connActive}: true, {connIdle, connParked}: true, {connIdle, connClosed}: true,
		{connParked, connIdle}: true, {connParked, connClosed}: true,
		{connActive, connIdle}: true, {connActive, connLingering}: true, {connActive, connClosed}: true,
		{connLingering, connClosed}: true,
	}
	assert.Moves(t, connPhases, legal, func(from, to connPhase) (bool, connPhase) {
		c := &Conn{}
		c.phase.Store(uint32(from))
		return c.move(to), connPhase(c.phase.Load())
	})
}

// TestConn_KillLeavesRequests walks every phase.
func TestConn_KillLeavesRequests(t *testing.T) {
	for from := range connPhases {
		ours, theirs := net.Pipe()
		c := newConn(New(Options{WriteTimeout: time.Minute, HeaderTimeout: time.Minute, IdleTimeout: time.Minute}), ours)
		c.phase.Store(uint32(from))
		c.kill()
		stays := from == connActive || from == connClosed
		theirs.SetReadDeadline(time.Unix(1, 0)) // past: an open pipe times out, a closed one ends
		_, err := theirs.Read(make([]byte, 1))
		open := errors.Is(err, os.ErrDeadlineExceeded)
		assert.True(t, open == stays, "phase %d: open %v (%v), want %v", from, open, err, stays)
	}
}

// TestConn_BodyExtendsDeadline: a body that takes longer than the header may, but keeps coming, passes.
func TestConn_BodyExtendsDeadline(t *testing.T) {
	server, peer := net.Pipe()
	c := newConn(New(Options{HeaderTimeout: time.Second}), server)
	connState(c, fasthttp.StateActive)
	start := c.t.now()
	go func() {
		for range 10 {
			peer.Write(make([]byte, bodyRate))
		}
	}()
	_, err := io.ReadFull(c, make([]byte, 10*bodyRate))
	assert.NoError(t, err)
	end := c.t.now()
	got := c.readWanted - 11*time.Second
	assert.True(t, got >= start && got <= end,
		"got the deadline 11s after %v, want it after one of %v to %v: one second, and one for each %d bytes", got, start, end, bodyRate)
}

// TestConn_PiecesAreOneRequest: a request is the same however its bytes are divided, also if a piece ends its headers
// and begins a chunk's line.
func TestConn_PiecesAreOneRequest(t *testing.T) {
	const raw = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n10;a=b\r\n0123456789abcdef\r\n0\r\nA: b\r\n\r\n"
	for i := 1; i < len(raw); i++ {
		for j := i; j < len(raw); j++ {
			server, peer := net.Pipe()
			c := newConn(New(Options{HeaderTimeout: time.Minute, IdleTimeout: time.Minute}), server)
			go func() {
				for _, piece := range []string{raw[:i], raw[i:j], raw[j:]} {
					_, _ = io.WriteString(peer, piece)
				}
				peer.Close()
			}()
			got, err := io.ReadAll(c)
			if string(got) != raw || err != nil || c.framing.ended != 1 {
				t.Fatalf("%q %q %q: got %q, %v and %d requests, want all of it and one",
					raw[:i], raw[i:j], raw[j:], got, err, c.framing.ended)
			}
		}
	}
}

// countingConn counts how often a deadline is set.
type countingConn struct {
	net.Conn
	reads, writes int
}

func (c *countingConn) SetReadDeadline(t time.Time) error {
	c.reads++
	return c.Conn.SetReadDeadline(t)
}

func (c *countingConn) SetWriteDeadline(t time.Time) error {
	c.writes++
	return c.Conn.SetWriteDeadline(t)
}

// TestConn_DeadlinesAreSetSeldom: the deadlines of many requests, all close to one another, reach the connection once.
func TestConn_DeadlinesAreSetSeldom(t *testing.T) {
	server, peer := net.Pipe()
	counting := &countingConn{Conn: server}
	c := newConn(New(Options{WriteTimeout: time.Minute, HeaderTimeout: time.Minute, IdleTimeout: time.Minute}), counting)
	go io.Copy(peer, peer)
	connState(c, fasthttp.StateActive)
	for range 100 {
		_, err := c.Write([]byte("x"))
		assert.NoError(t, err)
		_, err = c.Read(make([]byte, 1))
		assert.NoError(t, err)
		connState(c, fasthttp.StateActive)
		connState(c, fasthttp.StateIdle)
	}
	assert.Equal(t, "reads", counting.reads, 1)
	assert.Equal(t, "writes", counting.writes, 1)
}

// TestConn_ClosingAwaitsNoRequest: a Shutdown that found the connection active has left it alone.
func TestConn_ClosingAwaitsNoRequest(t *testing.T) {
	server, peer := net.Pipe()
	go peer.Write([]byte("x"))
	s := New(Options{HeaderTimeout: time.Minute, IdleTimeout: time.Minute})
	c := newConn(s, server)
	c.move(connActive)
	s.closing.Store(true)
	n, err := c.Read(make([]byte, 1))
	assert.True(t, n == 1 && err == nil, "in the middle of a request: %d, %v, want 1", n, err)
	connState(c, fasthttp.StateIdle)
	n, err = c.Read(make([]byte, 1))
	assert.True(t, n == 0 && errors.Is(err, io.EOF), "between requests: %d, %v, want 0 and io.EOF", n, err)
}

// TestConn_KilledWhileReading: the first byte of a request came as Shutdown closed the connection.
func TestConn_KilledWhileReading(t *testing.T) {
	server, peer := net.Pipe()
	go peer.Write([]byte("x"))
	c := newConn(New(Options{WriteTimeout: time.Minute, HeaderTimeout: time.Minute, IdleTimeout: time.Minute}), server)
	c.move(connClosed)
	n, err := c.Read(make([]byte, 1))
	assert.True(t, n == 0 && errors.Is(err, net.ErrClosed), "read %d, %v, want 0 and net.ErrClosed", n, err)
}

// TestConn_ThoseThatDoNotReadMakeRoom: clients that do not read their answers take no connection from others. One that
// waits for its answer stays.
func TestConn_ThoseThatDoNotReadMakeRoom(t *testing.T) {
	const most = 4
	limit := connlimit.New(most)
	s := serve(t, Options{Connections: limit})
	waits := s.dial(t)
	waits.send(hold)
	<-s.held
	for range most - 1 {
		c := s.dial(t)
		_ = c.Conn.(*net.TCPConn).SetReadBuffer(4 << 10)
		c.send("GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
	}
	assert.Eventually(t, "writes wait for their clients", func() bool { return len(s.Idle()) == most-1 })
	for range most - 1 {
		c := s.dial(t)
		c.send(get)
		c.want(200)
	}
	close(s.release)
	waits.want(200)
	got := limit.Stats()
	assert.True(t, got.Evicted != 0 && got.Refused == 0, "got %+v, want some evicted and none refused", got)
	assert.Eventually(t, "those that were closed are forgotten", func() bool { return s.Stats().Open == limit.Stats().Open })
}

// TestConn_CutBlockedLeavesWritesThatHaveEnded: cutBlocked may be called late.
func TestConn_CutBlockedLeavesWritesThatHaveEnded(t *testing.T) {
	ours, theirs := net.Pipe()
	c := newConn(New(Options{WriteTimeout: time.Minute, HeaderTimeout: time.Minute, IdleTimeout: time.Minute}), ours)
	c.t.began = c.t.began.Add(-time.Hour)
	c.phase.Store(uint32(connActive))
	if c.blocked.since.Store(1); !c.cutBlocked() {
		t.Error("a write that waits was not cut")
	}
	c.slow.Store(false)
	c.endWrite()
	_ = ours.SetDeadline(time.Time{})
	assert.True(t, !c.cutBlocked() && !c.slow.Load() && !c.blocked.offered.Load(),
		"a cut of a connection without a write, slow %t, offered %t", c.slow.Load(), c.blocked.offered.Load())
	go theirs.Read(make([]byte, 10))
	_, err := c.Write([]byte("x"))
	assert.True(t, err == nil, "got %v, want the next write done", err)
}
