package ipc

import (
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// sendBuffer is the requested size, in bytes, of the socket buffer of each end. The buffer holds frames that the other
	// end has not read, so that a batch can wait there for a busy worker. Linux gives twice the requested size, up to
	// twice net.core.wmem_max. The worker's ends share that size, because the front may be slower than 100 streams of one
	// worker, and unread bytes take memory of the front's control group.
	sendBuffer = 1 << 20
	// minSendBuffer is the size of an end's buffer if it is not set.
	minSendBuffer = 104 << 10
)

// Pair makes a connected pair of stream sockets: the front's end, ready for Go's poller, and the worker's end, a
// blocking descriptor to be passed on and closed. The worker has many such ends.
func Pair(name string, many int) (*Conn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make socketpair: %w", err)
	}
	for i, size := range []int{sendBuffer, sendBuffer / many} {
		if size > minSendBuffer {
			_ = unix.SetsockoptInt(fds[i], unix.SOL_SOCKET, unix.SO_SNDBUF, size) // if it fails, the size stays
		}
	}
	conn, err := NewConn(fds[0], name)
	if err != nil {
		unix.Close(fds[0])
		unix.Close(fds[1])
		return nil, nil, err
	}
	return conn, os.NewFile(uintptr(fds[1]), name), nil
}

// Conn is one end of a channel. Send may be called by many goroutines at once, Recv by one at a time. Close may be
// called at any time.
type Conn struct {
	file *os.File
	raw  syscall.RawConn

	write writer
	read  reader
	group bool // see ShareBodies
}

// groupInlineMax is InlineMax for a group: a larger body is copied once, into a sealed file, which all its ranks read.
const groupInlineMax = 64 << 10

// ShareBodies makes this the front's end of a relay to a group: the ranks read one copy of a large body, and write to
// no memory of a request.
func (c *Conn) ShareBodies() { c.group = true }

// KeepFiles makes Recv hand on descriptors, and map no body.
func (c *Conn) KeepFiles() { c.read.keepFiles = true }

// Pass queues a frame that came from another Conn, without a write. fd is its file, which is duplicated, or negative.
// See Send for its body.
func (c *Conn) Pass(f *Frame, fd int) error {
	if fd < 0 {
		return c.write.enqueue(noFile, f.Kind, f.Flags, f.ID, f.Nanos, len(f.Body), [][]byte{f.Body})
	}
	own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return fmt.Errorf("duplicate descriptor: %w", err)
	}
	return c.write.enqueue(own, f.Kind, f.Flags|FlagFile, f.ID, f.Nanos, 0, nil)
}

// NewConn takes over the descriptor of a stream socket.
func NewConn(fd int, name string) (*Conn, error) {
	if err := unix.SetNonblock(fd, true); err != nil {
		return nil, fmt.Errorf("set socket non-blocking: %w", err)
	}
	file := os.NewFile(uintptr(fd), name)
	raw, err := file.SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("watch socket: %w", err)
	}
	c := &Conn{file: file, raw: raw}
	c.write.init(raw)
	c.read.init(raw)
	return c, nil
}

// Close closes this end; a Recv in progress returns.
func (c *Conn) Close() error {
	c.write.close()
	c.read.files.close()
	return c.file.Close()
}

// Send queues one frame whose body is the concatenation of parts, and writes what is queued unless another goroutine is
// writing. It never waits for the other side. Parts of largePart bytes and more are not copied: they must not change
// until the other side has read them, as its answer shows.
func (c *Conn) Send(kind Kind, id uint64, parts ...[]byte) error {
	if err := c.Queue(kind, id, parts...); err != nil {
		return err
	}
	return c.Flush()
}

// Queue is Send without the write: the frame is written by the next Flush or Send.
func (c *Conn) Queue(kind Kind, id uint64, parts ...[]byte) error {
	return c.QueueIn(nil, kind, 0, id, parts...)
}

// QueueIn is Queue of a frame with flags, and with a body above InlineMax in a file that create makes, given the body's
// size in bytes. If create is nil or makes no file, the body goes to a memory file.
func (c *Conn) QueueIn(create func(size int64) (*os.File, error), kind Kind, flags uint8, id uint64,
	parts ...[]byte,
) error {
	size := sizeOf(parts)
	if size > InlineMax || c.group && size > groupInlineMax {
		fd, err := bodyFile(create, size, parts)
		if err != nil {
			return err
		}
		if c.group {
			const seals = unix.F_SEAL_WRITE | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW
			_, _ = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals) // fails for a file on disk, which has none
		}
		return c.write.enqueue(fd, kind, flags|FlagFile, id, 0, 0, nil)
	}
	return c.write.enqueue(noFile, kind, flags, id, 0, size, parts)
}

func sizeOf(parts [][]byte) (size int) {
	for _, p := range parts {
		size += len(p)
	}
	return size
}

// Flush writes what is queued.
func (c *Conn) Flush() error { return c.write.flush() }

// Unread returns how much of what was sent the other side has not read yet: in bytes of the kernel's memory, or 0 if
// that cannot be told.
func (c *Conn) Unread() (n int) {
	_ = c.raw.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), unix.SIOCOUTQ) }) // an error leaves 0
	return n
}

// SendFile sends a frame without a body that passes fd on; fd is closed afterwards.
func (c *Conn) SendFile(kind Kind, id uint64, fd int) error {
	if err := c.write.enqueue(fd, kind, FlagFile, id, 0, 0, nil); err != nil {
		return err
	}
	return c.Flush()
}

// Recv waits for bytes, then calls handle for each frame that is complete. A frame's body is valid
// during its call only, unless taken with Own. The error is ErrClosed once the other side is gone.
// It is ErrInterrupted after Interrupt, and then nothing was lost.
func (c *Conn) Recv(handle func(*Frame)) error {
	return c.RecvWhile(0, handle, once)
}

// Interrupt makes the Recv in progress return ErrInterrupted, or else the next one.
func (c *Conn) Interrupt() {
	_ = c.file.SetReadDeadline(time.Unix(1, 0)) // fails only after Close, which ends Recv anyway
}

// bodyFile makes a file that holds parts, which have that size, by create or as a memory file.
func bodyFile(create func(size int64) (*os.File, error), size int, parts [][]byte) (int, error) {
	if create != nil {
		if file, err := create(int64(size)); err == nil && file != nil {
			defer file.Close()
			if fd, err := unix.FcntlInt(file.Fd(), unix.F_DUPFD_CLOEXEC, 3); err == nil {
				if fd, err = fill(fd, parts); err == nil {
					return fd, nil
				} // otherwise the disk is full
			}
		}
	}
	fd, err := unix.MemfdCreate("pinion-body", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return -1, fmt.Errorf("create body file: %w", err)
	}
	return fill(fd, parts)
}

// fill writes parts to a file and returns it. It closes the file if that fails.
func fill(fd int, parts [][]byte) (int, error) {
	for _, p := range parts {
		for len(p) > 0 {
			n, err := unix.Write(fd, p)
			if err == unix.EINTR {
				continue
			}
			if err != nil {
				unix.Close(fd)
				return -1, fmt.Errorf("write body file: %w", err)
			}
			p = p[n:]
		}
	}
	return fd, nil
}
