package transport

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// parking holds idle connections. A connection that fasthttp serves keeps a goroutine, two buffers and a context, 22
// KiB in all, even between requests and before the first one. A parked one is only a descriptor in an epoll set until
// bytes arrive; fasthttp considers it closed.
type parking struct {
	serve func(net.Conn) // serves a connection again

	count atomic.Int64 // of by; written under mu
	mu    sync.Mutex
	by    map[int32]*Conn
	gen   int32 // counts the parkings, so that a late event can be recognized
	epoll epoll
}

// start makes the epoll set and starts the goroutine that reads it. Only the first call has an effect.
func (k *parking) start() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.epoll.start(func(ep *os.File) { _ = readEpoll(ep, k.wake) }); err != nil {
		return fmt.Errorf("make the epoll set of idle connections: %w", err)
	}
	return nil
}

// parkFresh parks a new connection if many are open; false means fasthttp is to serve it. Most connections of an
// attacker send nothing, and a parked one takes little memory while it is silent.
func (t *Transport) parkFresh(c *Conn) bool {
	if c.fd < 0 || !t.conns.many.Load() {
		return false
	}
	c.until.Store(int64(t.now() + t.opt.HeaderTimeout))
	if !c.move(connParked) {
		return false // killed: fasthttp closes it
	}
	if t.parking.add(c) {
		return true
	}
	c.move(connIdle)
	return false
}

// parkAtOnce parks an idle connection if many are open, and memory is short or those that are not parked could take half
// of the budget if each had a request; true means its Read then returns io.EOF, and Close parks it. A sweep comes too late
// where thousands are answered in a second. A few that are used beside thousands of parked ones keep their goroutines.
func (c *Conn) parkAtOnce() bool {
	t := c.t
	if c.fd < 0 || !t.conns.many.Load() || !t.isCrowded() && !t.opt.Memory.Short() || c.unread() {
		return false
	}
	if c.isSecured() { // the next request may be decrypted already: a read that does not wait says
		c.readSet = c.readWanted
		c.wakeRead()
		return false
	}
	c.until.Store(int64(c.readWanted))
	return c.move(connParked)
}

// isCrowded reports whether the connections that are not parked could take half of the memory budget.
func (t *Transport) isCrowded() bool {
	return (t.conns.count.Load()-t.parking.count.Load())*HeadCost > t.opt.Memory.Half()
}

// close ends the goroutine. Parked connections are not served again.
func (k *parking) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.epoll.close()
}

// add parks a connection that fasthttp has released; false means it cannot, and the caller closes it.
func (k *parking) add(c *Conn) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.epoll.fd < 0 || !c.is(connParked) { // killed meanwhile, and its descriptor may be reused
		return false
	}
	k.gen++
	c.parked = k.gen
	ev := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLONESHOT, Fd: c.fd, Pad: c.parked}
	if unix.EpollCtl(k.epoll.fd, unix.EPOLL_CTL_ADD, int(c.fd), &ev) != nil {
		return false
	}
	k.by[c.fd] = c
	k.count.Store(int64(len(k.by)))
	return true
}

// wake serves a connection again after bytes have arrived.
func (k *parking) wake(fd, gen int32) {
	k.mu.Lock()
	c := k.by[fd]
	if c == nil || c.parked != gen || !c.move(connIdle) {
		k.mu.Unlock()
		return
	}
	c.quiet.Store(false)
	delete(k.by, fd)
	k.count.Store(int64(len(k.by)))
	_ = unix.EpollCtl(k.epoll.fd, unix.EPOLL_CTL_DEL, int(fd), nil)
	k.mu.Unlock()
	go k.serve(c)
}

// evict closes a connection if it is parked, and reports whether it was. The caller then forgets it.
func (k *parking) evict(c *Conn) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !c.is(connParked) || !c.move(connClosed) {
		return false
	}
	if k.by[c.fd] == c {
		delete(k.by, c.fd)
		k.count.Store(int64(len(k.by)))
	}
	c.Conn.Close()
	return true
}

// sweep parks the connections that have been idle since the last sweep, if many are open, and closes parked ones whose
// idle timeout has ended. If others wait for memory, clients that do not read lose their connections. It sets its timer
// again while it has work.
func (t *Transport) sweep() {
	now := int64(t.now())
	var idle, late, blocked []*Conn
	t.conns.mu.Lock()
	many := len(t.conns.open) > t.opt.ParkAbove
	left := many
	for c := range t.conns.open {
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
		case connActive:
			if c.blocked.waiting(now) != 0 && !c.blocked.offered.Load() {
				blocked = append(blocked, c)
			}
		}
	}
	t.conns.sweeping = left && !t.closing.Load()
	if t.conns.sweeping {
		t.conns.sweeper.Reset(t.opt.SweepInterval)
	}
	t.conns.mu.Unlock()
	for _, c := range idle {
		c.wakeRead()
	}
	for _, c := range blocked {
		c.offerBlocked()
	}
	for _, c := range late {
		if t.parking.evict(c) {
			t.forget(c)
		}
	}
}

// startSweeping starts the sweep if many connections are open. Called with the lock held.
func (t *Transport) startSweeping() {
	if len(t.conns.open) > t.opt.ParkAbove && !t.conns.sweeping {
		t.conns.sweeping = true
		t.conns.sweeper.Reset(t.opt.SweepInterval)
	}
}

// wakeRead interrupts the read of a connection's goroutine, so that it parks the connection. If a request has arrived
// meanwhile the read is repeated. Safe from any goroutine.
func (c *Conn) wakeRead() {
	c.wakeMu.Lock()
	defer c.wakeMu.Unlock()
	c.woken = true
	_ = c.Conn.SetReadDeadline(time.Unix(1, 0)) // fails once it is closed
}

// wasWoken reports whether the read that failed with err was interrupted by wakeRead.
func (c *Conn) wasWoken(err error) bool {
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return false
	}
	c.wakeMu.Lock()
	defer c.wakeMu.Unlock()
	woken := c.woken
	c.woken = false
	return woken
}

// epoll is an epoll set that waits in Go's poller, so that it costs nothing while idle. Its owner's lock guards it.
type epoll struct {
	fd   int // -1 while not started, and after close
	file *os.File
}

// start makes the set, and lets run read it on a goroutine. Only the first call has an effect.
func (e *epoll) start(run func(*os.File)) error {
	if e.fd >= 0 {
		return nil
	}
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return err
	}
	// os.NewFile gives a descriptor to Go's poller only if it is non-blocking.
	if err := unix.SetNonblock(fd, true); err != nil {
		unix.Close(fd)
		return err
	}
	e.fd, e.file = fd, os.NewFile(uintptr(fd), "epoll")
	go run(e.file)
	return nil
}

func (e *epoll) close() {
	if e.fd >= 0 {
		e.fd = -1
		e.file.Close()
	}
}

// readEpoll handles events until the set is closed (nil) or cannot be read.
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
