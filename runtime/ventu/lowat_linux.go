package ventu

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

// ventu 0.4.5 reads a batch with one recv(2), without MSG_WAITALL, and crashes if it gets less than the whole of it.
// The server cannot ensure that a message arrives whole: a unix socket takes a message over in buffers of 36 544 bytes
// and wakes its reader after the first; TCP sends what the window lets through. But an option of the worker's own
// socket makes a recv wait for more (SO_RCVLOWAT), and with the rights of a debugger (pidfd_getfd(2): the same user,
// where Yama and seccomp let it, or CAP_SYS_PTRACE) the server may set it.
//
// It does so only with processes that have ventu beside their msgpack: a program that reads by buffers of a fixed size
// would wait forever for the last of them. Where the server may not, such a worker gets no batch of several jobs that
// is larger than what always comes whole.

// unixChunk is the largest message that always comes whole: what a unix socket takes over in one piece. TCP on the
// loopback takes more.
const unixChunk = 36_544

// receiver is how a worker takes its batches. The zero value takes them as a stream. Only its writer uses it once the
// worker is ready, except for small.
type receiver struct {
	process
	conn  net.Conn
	low   int         // SO_RCVLOWAT as it was set last; 0 means it is left alone
	pipe  bool        // a unix socket
	room  int         // what our sending buffer was set to
	small atomic.Bool // it gets no mixed batches above unixChunk
	log   *slog.Logger
}

var errNoSocket = errors.New("the worker's process has no such socket")

// prepare finds out how a worker reads, before its first batch.
func (t *receiver) prepare(leave bool) {
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
		err = t.setLowatAll()
	} else {
		err = t.setLowat(1)
	}
	if err != nil {
		t.giveUp(err)
	}
}

// giveUp is called if the option of the worker's socket cannot be set.
func (t *receiver) giveUp(err error) {
	t.small.Store(true)
	t.low = 0
	t.log.Warn("ventu takes what one recv returns for a whole batch, and this worker's socket cannot be told to wait for it: "+
		"a request above 32 KiB may end it", "error", err, "needs",
		"the right to trace the worker, as CAP_SYS_PTRACE gives it")
}

// setLowatAll makes the worker's sockets that are connected to this server wait for everything that a recv asks for.
// Which of them belongs to this connection is unknown and does not matter: all are ventu's.
func (t *receiver) setLowatAll() error {
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

// isOurs reports whether a socket is connected to this process's at that path.
func isOurs(fd int, path string) bool {
	far, err := unix.Getpeername(fd)
	if err != nil {
		return false
	}
	address, ok := far.(*unix.SockaddrUnix)
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	return ok && err == nil && address.Name == path && int(cred.Pid) == os.Getpid()
}

// setLowat makes a TCP worker's socket wait for low bytes. The number must be exact: while fewer are there
// the kernel does not even wake the reader.
func (t *receiver) setLowat(low int) error {
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
func (t *receiver) expect(size int) {
	if t.pipe && size > max(t.room, unixChunk) {
		t.room = size // fewer waits; the kernel's own bound applies
		if raw, err := t.conn.(*net.UnixConn).SyscallConn(); err == nil {
			_ = raw.Control(func(fd uintptr) { _ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_SNDBUF, size) })
		}
	}
	if t.low == 0 {
		return
	}
	low := 1
	if size > unixChunk {
		low = size - lengthSize
	}
	if low == t.low {
		return
	}
	if err := t.setLowat(low); err != nil {
		t.giveUp(err) // for the next batch; this one is on its way
	}
}
