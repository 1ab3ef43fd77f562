package httpd

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// parkAbove is how many connections may be open before any is parked: what fewer hold is not worth it.
	parkAbove = 256
	// sweepEvery is the time between two looks at the connections. One that was idle from one look to the next is
	// parked.
	sweepEvery = time.Second
)

// parking is where connections wait that nobody has used for a while. A connection that fasthttp serves holds a
// goroutine, its two buffers and its context, 22 KiB in all, between two requests as well. One that is parked has
// left fasthttp, which takes it for closed, and is a descriptor in an epoll set until something comes.
type parking struct {
	serve func(net.Conn) // serves a connection again

	mu   sync.Mutex
	by   map[int32]*conn
	gen  int32 // counts those that came, so that a late event is told from one that counts
	epfd int   // -1 while not started, and after close
	ep   *os.File
}

// start makes the epoll set and the goroutine that reads it. Only the first call does anything.
func (k *parking) start() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.epfd >= 0 {
		return nil
	}
	fd, ep, err := newEpoll()
	if err != nil {
		return fmt.Errorf("make the epoll set of idle connections: %w", err)
	}
	k.epfd, k.ep = fd, ep
	go readEpoll(ep, k.wake)
	return nil
}

// close ends the goroutine. What is parked is not served any more.
func (k *parking) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.epfd >= 0 {
		k.epfd = -1
		k.ep.Close()
	}
}

// add takes a connection that fasthttp has done with; false: it cannot, and it is to be closed.
func (k *parking) add(c *conn) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.epfd < 0 || !c.is(connParked) { // killed meanwhile, and its descriptor may be another's
		return false
	}
	k.gen++
	c.parked = k.gen
	ev := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLONESHOT, Fd: c.fd, Pad: c.parked}
	if unix.EpollCtl(k.epfd, unix.EPOLL_CTL_ADD, int(c.fd), &ev) != nil {
		return false
	}
	k.by[c.fd] = c
	return true
}

// wake has a connection served again on which something came.
func (k *parking) wake(fd, gen int32) {
	k.mu.Lock()
	c := k.by[fd]
	if c == nil || c.parked != gen || !c.move(connIdle) {
		k.mu.Unlock()
		return
	}
	c.quiet.Store(false)
	delete(k.by, fd)
	_ = unix.EpollCtl(k.epfd, unix.EPOLL_CTL_DEL, int(fd), nil)
	k.mu.Unlock()
	go k.serve(c)
}

// evict closes a connection if it is parked. The caller forgets it then.
func (k *parking) evict(c *conn) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !c.is(connParked) || !c.move(connClosed) {
		return false
	}
	if k.by[c.fd] == c {
		delete(k.by, c.fd)
	}
	c.Conn.Close()
	return true
}

// sweep parks the connections that were idle at the last sweep and ever since, where there are many, and closes
// those whose time is over. It comes again as long as there is something to do.
func (s *Server) sweep() {
	now := int64(time.Since(s.began))
	var idle, late []*conn
	s.mu.Lock()
	many := len(s.conns) > s.parkAbove
	left := many
	for c := range s.conns {
		switch connPhase(c.phase.Load()) {
		case connIdle:
			if many && c.fd >= 0 && c.quiet.Swap(true) {
				idle = append(idle, c)
			}
		case connParked:
			left = true
			if now > c.until.Load() {
				late = append(late, c)
			}
		}
	}
	s.sweeping = left && !s.closing.Load()
	if s.sweeping {
		s.sweeper.Reset(sweepEvery)
	}
	s.mu.Unlock()
	for _, c := range idle {
		c.nudge()
	}
	for _, c := range late {
		if s.parking.evict(c) {
			s.forget(c)
		}
	}
}

// mind begins to sweep where there are many connections. Called with the lock held.
func (s *Server) mind() {
	if len(s.conns) > s.parkAbove && !s.sweeping {
		s.sweeping = true
		s.sweeper.Reset(sweepEvery)
	}
}

// nudge makes a connection's goroutine, which waits for the next request, park it. Where a request has come in
// the meantime the read that is broken off is made again. Safe from any goroutine.
func (c *conn) nudge() {
	c.nudging.Lock()
	defer c.nudging.Unlock()
	c.nudged = true
	_ = c.Conn.SetReadDeadline(time.Unix(1, 0)) // fails once it is closed
}

// wasNudged tells whether the read that has failed with err was broken off by nudge.
func (c *conn) wasNudged(err error) bool {
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return false
	}
	c.nudging.Lock()
	defer c.nudging.Unlock()
	was := c.nudged
	c.nudged = false
	return was
}

// newEpoll makes an epoll set that waits in Go's poller, so that it costs nothing, however many wait in it.
func newEpoll() (int, *os.File, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return -1, nil, err
	}
	// os.NewFile gives a descriptor to Go's poller only where it is marked so. Nobody reads this one.
	if err := unix.SetNonblock(fd, true); err != nil {
		unix.Close(fd)
		return -1, nil, err
	}
	return fd, os.NewFile(uintptr(fd), "epoll"), nil
}

// readEpoll hands on events until the set is closed (nil) or cannot be read.
func readEpoll(ep *os.File, handle func(fd, gen int32)) error {
	rc, err := ep.SyscallConn()
	if err != nil {
		return nil // closed already
	}
	events := make([]unix.EpollEvent, 64)
	for {
		var n int
		var failed error
		// The function runs once, and again each time Go's poller finds the set readable.
		err := rc.Read(func(fd uintptr) bool {
			n, failed = unix.EpollWait(int(fd), events, 0)
			return n > 0 || failed != nil
		})
		switch {
		case err != nil:
			return nil // closed
		case failed == unix.EINTR:
		case failed != nil:
			return failed
		default:
			for _, ev := range events[:n] {
				handle(ev.Fd, ev.Pad)
			}
		}
	}
}
