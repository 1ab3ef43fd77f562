package batching

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"os"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// ventu 0.4.5 reads a batch with one recv(2), without MSG_WAITALL, and dies of what is less than the whole of it. The
// server cannot make what it sends come whole: a unix socket takes a message over in pieces of 36 544 bytes and
// wakes its reader after the first; TCP sends what the window lets through. But the worker's own socket can be told that
// a recv is to wait for more (SO_RCVLOWAT), and with the rights of a debugger (pidfd_getfd(2): the same user, where Yama
// and seccomp let it, or CAP_SYS_PTRACE) the server may tell it.
//
// It does so only with processes that have ventu beside their msgpack: a program that reads by pieces of a fixed size
// would wait forever for the last of them. Where the server may not, such a worker gets no batch of several jobs that is
// larger than what always comes whole.

// oncePiece is the largest message that always comes whole: what a unix socket takes over in one piece. TCP on the
// loopback takes more.
const oncePiece = 36_544

// taker is how a worker takes its batches. The zero value takes them as a stream. Only its writer uses it once the
// worker is ready, but for small.
type taker struct {
	process
	conn  net.Conn
	low   int         // what its socket was told last; 0: it is not to be told anything
	pipe  bool        // a unix socket
	room  int         // what our sending buffer was set to
	small atomic.Bool // it gets no mixed batches above oncePiece
	log   *slog.Logger
}

var errNoSocket = errors.New("the worker's process has no such socket")

// prepare looks at a worker before it gets its first batch.
func (t *taker) prepare(leave bool) {
	_, t.pipe = t.conn.(*net.UnixConn)
	t.process = peerOf(t.conn)
	t.log = t.log.With("pid", t.pid)
	if t.pid == 0 || !hasVentu(t.pid) {
		return
	}
	if leave {
		t.small.Store(true)
		return
	}
	var err error
	if t.pipe {
		err = t.tellAll()
	} else {
		err = t.tell(1)
	}
	if err != nil {
		t.giveUp(err)
	}
}

// giveUp is called where the worker's socket cannot be told anything.
func (t *taker) giveUp(err error) {
	t.small.Store(true)
	t.low = 0
	t.log.Warn("ventu takes what one recv returns for a whole batch, and this worker's socket cannot be told to wait for it: "+
		"a request above 32 KiB may end it", "error", err, "needs", "the right to trace the worker, as CAP_SYS_PTRACE gives it")
}

// tellAll tells those sockets of a worker's process that are connected to the same server to wait for all that they
// are asked for. Which of them is this connection's cannot be seen, and need not: all of them are ventu's.
func (t *taker) tellAll() error {
	found := errNoSocket
	for _, number := range descriptors(fmt.Sprintf("/proc/%d/fd", t.pid)) {
		err := borrow(process{t.pid, number}, func(fd int) error {
			if !isOurs(fd, t.conn.LocalAddr().String()) {
				return nil
			}
			found = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVLOWAT, math.MaxInt32)
			return nil
		})
		if err != nil && !errors.Is(err, unix.EBADF) { // it was closed
			return err
		}
	}
	return found
}

// isOurs tells whether a socket is connected to this process's at that path.
func isOurs(fd int, path string) bool {
	far, err := unix.Getpeername(fd)
	if err != nil {
		return false
	}
	address, ok := far.(*unix.SockaddrUnix)
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	return ok && err == nil && address.Name == path && int(cred.Pid) == os.Getpid()
}

// tell tells a TCP worker's socket to wait for so many bytes. It must be told the exact number: while fewer are there
// the kernel does not even wake the reader.
func (t *taker) tell(low int) error {
	t.low = low
	return borrow(t.process, func(fd int) error {
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVLOWAT, low); err != nil {
			return fmt.Errorf("set SO_RCVLOWAT: %w", err)
		}
		is, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVLOWAT)
		if err == nil && is < low {
			t.log.Warn("a batch is larger than what this worker's socket can wait for: it may end it",
				"batch", low, "most", is, "set_by", "the third number of net.ipv4.tcp_rmem, halved")
		}
		return nil
	})
}

// expect is called before a message of that size is sent.
func (t *taker) expect(size int) {
	if t.pipe && size > max(t.room, oncePiece) {
		t.room = size // fewer waits; the kernel's own bound applies
		if raw, err := t.conn.(*net.UnixConn).SyscallConn(); err == nil {
			raw.Control(func(fd uintptr) { unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_SNDBUF, size) })
		}
	}
	if t.low == 0 {
		return
	}
	low := 1
	if size > oncePiece {
		low = size - lengthSize
	}
	if low == t.low {
		return
	}
	if err := t.tell(low); err != nil {
		t.giveUp(err) // for the next batch; this one is on its way
	}
}
