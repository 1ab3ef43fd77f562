package httpd

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"pinion/runtime/connlimit"
	"pinion/runtime/moves/movestest"
	"pinion/tests/await"
)

// TestConnMoves walks every pair of phases.
func TestConnMoves(t *testing.T) {
	legal := map[[2]connPhase]bool{
		{connFresh, connActive}: true, {connFresh, connParked}: true, {connFresh, connClosed}: true,
		{connIdle, connActive}: true, {connIdle, connParked}: true, {connIdle, connClosed}: true,
		{connParked, connIdle}: true, {connParked, connClosed}: true,
		{connActive, connIdle}: true, {connActive, connLingering}: true, {connActive, connClosed}: true,
		{connLingering, connClosed}: true,
	}
	movestest.Walk(t, connPhases, legal, func(from, to connPhase) (bool, connPhase) {
		c := &conn{}
		c.phase.Store(uint32(from))
		return c.move(to), connPhase(c.phase.Load())
	})
}

// TestKillLeavesRequests walks every phase.
func TestKillLeavesRequests(t *testing.T) {
	for from := range connPhases {
		ours, theirs := net.Pipe()
		c := newConn(New(newFake(), Options{}), ours)
		c.phase.Store(uint32(from))
		c.kill()
		stays := from == connActive || from == connClosed
		theirs.SetReadDeadline(time.Unix(1, 0)) // past: an open pipe times out, a closed one ends
		_, err := theirs.Read(make([]byte, 1))
		if open := errors.Is(err, os.ErrDeadlineExceeded); open != stays {
			t.Errorf("phase %d: open %v (%v), want %v", from, open, err, stays)
		}
	}
}

func TestSilentClientsAreClosed(t *testing.T) {
	s := serve(t, newFake(), Options{HeaderTimeout: 20 * time.Millisecond})

	silent := s.dial(t)
	silent.want(408)
	silent.ended()

	half := s.dial(t)
	half.send("POST /predictions HTTP/1.1\r\nHost: x\r\n")
	half.want(408)
	half.ended()

	slow := s.dial(t)
	slow.send("POST /predictions HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{")
	if _, body := slow.want(408); !strings.Contains(body, "detail") {
		t.Error(body)
	}
	slow.ended()

	idle := serve(t, newFake(), Options{IdleTimeout: time.Second}).dial(t)
	idle.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	idle.want(200)
	idle.ended()
}

// TestBodyEarnsTime: a body that takes longer than the header may, but keeps coming, passes.
func TestBodyEarnsTime(t *testing.T) {
	server, peer := net.Pipe()
	c := newConn(New(newFake(), Options{HeaderTimeout: time.Second}), server)
	start := time.Now()
	c.SetReadDeadline(start.Add(time.Second))
	go func() {
		for range 10 {
			peer.Write(make([]byte, bodyRate))
		}
	}()
	if _, err := io.ReadFull(c, make([]byte, 10*bodyRate)); err != nil {
		t.Fatal(err)
	}
	if got := c.readWanted.Sub(start); got != 11*time.Second {
		t.Errorf("the deadline stands at %v, want 11s: one, and one for each %d bytes", got, bodyRate)
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

// TestDeadlinesAreSetSeldom: the deadlines that fasthttp asks for with each request, all close to one
// another, reach the connection once.
func TestDeadlinesAreSetSeldom(t *testing.T) {
	server, peer := net.Pipe()
	counting := &countingConn{Conn: server}
	c := newConn(New(newFake(), Options{}), counting)
	go io.Copy(peer, peer)
	now := time.Now()
	for i := range 100 {
		c.SetReadDeadline(now.Add(60 * time.Second)) // between its reads
		c.SetReadDeadline(now.Add(650*time.Second + time.Duration(i)*time.Millisecond))
		if _, err := c.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
	}
	if counting.reads != 1 || counting.writes != 1 {
		t.Errorf("deadlines were set %d times for reading, %d for writing, want once each", counting.reads, counting.writes)
	}
}

func TestStalledReaderIsGivenUp(t *testing.T) {
	f := newFake()
	f.result.Output = bigString(64 << 20)
	s := serve(t, f, Options{WriteTimeout: 50 * time.Millisecond})
	c := s.dial(t)
	c.post(`{"id":"stalled"}`)
	wait(t, f.released, "the release of an answer that is not read")
}

// failingListener returns errors before it accepts.
type failingListener struct {
	net.Listener
	errs []error
	n    atomic.Int32
}

func (l *failingListener) Accept() (net.Conn, error) {
	if i := int(l.n.Add(1)) - 1; i < len(l.errs) {
		return nil, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", l.errs[i])}
	}
	return l.Listener.Accept()
}

func TestAcceptSurvivesShortage(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := serveOn(t, newFake(), Options{},
		&failingListener{Listener: ln, errs: []error{syscall.EMFILE, syscall.ECONNABORTED}})
	c := s.dial(t)
	c.post(`{}`)
	c.want(200)
}

func TestAcceptEndsWithItsListener(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := serveOn(t, newFake(), Options{}, &failingListener{Listener: ln, errs: []error{syscall.EBADF}})
	if err := wait(t, s.served, "the end of Serve"); !errors.Is(err, syscall.EBADF) {
		t.Errorf("Serve returned %v", err)
	}
}

func TestOneConnectionTooMany(t *testing.T) {
	f := newFake()
	f.hold = true
	s := serve(t, f, Options{Connections: connlimit.New(2)})
	for i := range 2 {
		s.dial(t).post(fmt.Sprintf(`{"id":"p%d"}`, i))
		defer f.finish(<-f.started)
	}
	await.Eventually(t, "both are in use", func() bool { return s.open() == 2 && len(s.idle()) == 0 })
	third := s.dial(t)
	third.post(`{}`)
	resp, body := third.want(503)
	if resp.Header.Get("Content-Type") != "application/json" || resp.Header.Get(headerRetry) != elsewhere ||
		body != `{"detail":"Too many connections"}` {
		t.Errorf("%v %s", resp.Header, body)
	}
	third.ended()
}

// TestConnections_OldestIdleIsClosed: also parked ones, and those that never sent a byte; one in use stays.
func TestConnections_OldestIdleIsClosed(t *testing.T) {
	for _, parkAbove := range []int{0, 100} {
		s := serve(t, newFake(), Options{Connections: connlimit.New(4)})
		s.conns.mu.Lock()
		s.conns.parkAbove = parkAbove
		s.conns.mu.Unlock()
		busy := s.dial(t)
		busy.send("POST /predictions HTTP/1.1\r\n")
		await.Eventually(t, "the first sends its request", func() bool { return s.open() == 1 && len(s.idle()) == 1 })
		silent := s.dial(t)
		await.Eventually(t, "the second is idle", func() bool { return len(s.idle()) == 2 })
		used := s.dial(t)
		for i := range 3 {
			used.post(`{}`)
			used.want(200)
			if i == 0 {
				s.dial(t)
				await.Eventually(t, "four are open", func() bool { return s.open() == 4 })
			}
		}
		await.Eventually(t, "the second has been idle for a while", func() bool {
			return slices.ContainsFunc(s.idle(), func(c connlimit.Idle) bool {
				return !c.Receiving && time.Since(c.Since) > connlimit.Youth
			})
		})
		last := s.dial(t)
		last.post(`{}`)
		last.want(200)
		silent.ended()
		busy.send("Host: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
		busy.want(200)
		if got := s.opt.Connections.Stats(); got.Evicted != 1 || got.Refused != 0 || got.Open != 4 {
			t.Errorf("parking above %d: got %+v, want 1 evicted and 4 open", parkAbove, got)
		}
	}
}

// TestConnections_ReceivingOnesMakeRoom: clients that stop within a request keep no others out. One that has sent more than
// they, and one with a whole request, stay.
func TestConnections_ReceivingOnesMakeRoom(t *testing.T) {
	const head = "PUT /predictions/x HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
	for what, part := range map[string]string{
		"a first line":   "POST /pred",
		"a header":       head,
		"a body":         head + "Content-Length: 100\r\n\r\n{",
		"a chunked body": head + "Transfer-Encoding: chunked\r\n\r\n64\r\n{",
		"a form":         strings.Replace(head, "application/json", "multipart/form-data; boundary=b", 1) + "Content-Length: 100\r\n\r\n--b",
	} {
		t.Run(what, func(t *testing.T) {
			f := newFake()
			f.hold = true
			s := serve(t, f, Options{Connections: connlimit.New(8)})
			works, sends := s.dial(t), s.dial(t)
			works.post(`{}`)
			running := <-f.started
			const most = 1 << 20
			sends.send(fmt.Sprintf("%sContent-Length: %d\r\n\r\n{%s", head, most, strings.Repeat(" ", most/2)))
			for range 6 {
				s.dial(t).send(part)
			}
			await.Eventually(t, "all places are taken", func() bool { return s.open() == 8 && len(s.idle()) == 7 })
			await.Eventually(t, "the large body counts", func() bool {
				return slices.ContainsFunc(s.idle(), func(c connlimit.Idle) bool {
					return c.Since.After(time.Now().Add(time.Minute))
				})
			})
			last := s.dial(t)
			last.send(homeRequest)
			last.want(200)
			if got := s.opt.Connections.Stats(); got.Evicted != 1 || got.Refused != 0 {
				t.Errorf("got %+v, want one evicted and none refused", got)
			}
			sends.send(strings.Repeat(" ", most-most/2-2) + "}")
			f.finish(<-f.started)
			sends.want(200)
			f.finish(running)
			works.want(200)
		})
	}
}

// TestNoRequestIsAwaitedWhileClosing: a Shutdown that found the connection active has left it alone.
func TestNoRequestIsAwaitedWhileClosing(t *testing.T) {
	server, peer := net.Pipe()
	go peer.Write([]byte("x"))
	s := New(newFake(), Options{})
	c := newConn(s, server)
	c.move(connActive)
	s.closing.Store(true)
	if n, err := c.Read(make([]byte, 1)); n != 1 || err != nil {
		t.Errorf("in the middle of a request: %d, %v", n, err)
	}
	connState(c, fasthttp.StateIdle)
	c.SetReadDeadline(time.Unix(1, 0)) // past: a read that waits fails
	if n, err := c.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("between requests: %d, %v", n, err)
	}
}

// TestKilledWhileReading: the first byte of a request came as Shutdown closed the connection.
func TestKilledWhileReading(t *testing.T) {
	server, peer := net.Pipe()
	go peer.Write([]byte("x"))
	c := newConn(New(newFake(), Options{}), server)
	c.move(connClosed)
	if n, err := c.Read(make([]byte, 1)); n != 0 || !errors.Is(err, net.ErrClosed) {
		t.Errorf("read %d, %v", n, err)
	}
}
