package ipc

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"pinion/ipc/bufpool"
)

// reader is the receiving half of a Conn. One goroutine at a time uses it.
type reader struct {
	raw  syscall.RawConn
	poll func(fd uintptr) bool // serve

	// Of the RecvWhile in progress.
	handle func(*Frame)
	next   func(blocked bool) (time.Duration, bool)
	failed error

	buf   []byte // what came in, from r to w not yet handled
	r, w  int
	files descriptors

	keepFiles bool // see Conn.KeepFiles

	big     []byte // a body that gets separate memory, being filled
	bigHas  int
	bigHead header

	frame Frame // the one that is handed on

	// Of the read in progress.
	msg unix.Msghdr
	iov unix.Iovec
	oob [oobSize]byte
	n   int
	err error

	busyPoll time.Duration // how long to poll before blocking
	blocked  bool          // nothing came while it polled

	total uint64 // bytes that ever came
}

const (
	firstBuffer = 64 << 10
	oobSize     = 256 // for control messages, which carry descriptors
)

func (rd *reader) init(raw syscall.RawConn) {
	rd.raw = raw
	rd.buf = make([]byte, firstBuffer)
	rd.poll = rd.serve
}

// receive calls recvmsg once; false means that the socket is not readable yet. The message header is kept in the reader
// because a fresh one would escape to the heap with every call.
func (rd *reader) receive(fd uintptr) bool {
	room := rd.room()
	rd.iov.Base = &room[0]
	rd.iov.SetLen(len(room))
	rd.msg.Iov = &rd.iov
	rd.msg.SetIovlen(1)
	rd.msg.Control = &rd.oob[0]
	rd.msg.SetControllen(len(rd.oob))
	rd.msg.Flags = 0
	for {
		n, _, errno := unix.Syscall(unix.SYS_RECVMSG, fd, uintptr(unsafe.Pointer(&rd.msg)),
			unix.MSG_CMSG_CLOEXEC|unix.MSG_DONTWAIT)
		switch errno {
		case 0:
			rd.n, rd.err = int(n), nil
			return true
		case unix.EINTR:
		case unix.EAGAIN:
			return false
		default:
			rd.n, rd.err = 0, errno
			return true
		}
	}
}

// room returns where the next bytes go.
func (rd *reader) room() []byte {
	if rd.big != nil {
		return rd.big[rd.bigHas:]
	}
	if rd.r == rd.w {
		rd.r, rd.w = 0, 0
	} else if len(rd.buf)-rd.w < HeaderSize {
		rd.w = copy(rd.buf, rd.buf[rd.r:rd.w])
		rd.r = 0
	}
	return rd.buf[rd.w:]
}

// serve reads until the caller wants no more, or an error; false means that Go's poller is to wait. It stays within one
// RawConn.Read, so no readiness is lost: where a read left room, and brought or lost no descriptor, at which the kernel
// ends a read, there was nothing more, and the poller knows of what has come since.
func (rd *reader) serve(fd uintptr) bool {
	for rd.receive(fd) || rd.pollBusily(fd) {
		all := rd.n < int(rd.iov.Len) && rd.msg.Controllen == 0 && rd.msg.Flags&unix.MSG_CTRUNC == 0
		if rd.failed = rd.take(); rd.failed != nil {
			return true
		}
		again := false
		if rd.busyPoll, again = rd.next(rd.blocked); !again {
			return true
		}
		if rd.blocked = all && rd.busyPoll == 0; rd.blocked {
			return false
		}
	}
	return false
}

func (rd *reader) recv(handle func(*Frame), next func(bool) (time.Duration, bool)) error {
	rd.handle, rd.next, rd.failed = handle, next, nil
	err := rd.raw.Read(rd.poll)
	rd.handle, rd.next = nil, nil
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return ErrInterrupted
	case errors.Is(err, os.ErrClosed):
		return ErrClosed
	case err != nil:
		return fmt.Errorf("%w: %w", ErrClosed, err)
	}
	return rd.failed
}

// take takes in the result of a read, and hands on the frames that are now complete.
func (rd *reader) take() error {
	if rd.err != nil {
		return fmt.Errorf("%w: %w", ErrClosed, rd.err)
	}
	if rd.msg.Controllen != 0 || rd.msg.Flags&unix.MSG_CTRUNC != 0 {
		if err := rd.files.take(&rd.msg, rd.oob[:rd.msg.Controllen]); err != nil {
			return err
		}
	}
	if rd.n == 0 {
		return fmt.Errorf("%w: %w", ErrClosed, io.EOF)
	}
	rd.total += uint64(rd.n)
	return rd.took(rd.handle)
}

// took takes in the n bytes that were just received, and hands on the frames that are now complete.
func (rd *reader) took(handle func(*Frame)) error {
	if rd.big != nil {
		return rd.grow(handle)
	}
	rd.w += rd.n
	if err := rd.frames(handle); err != nil {
		return err
	}
	if n := rd.files.len(); n > 1 || n == 1 && rd.r == rd.w {
		return fmt.Errorf("%w: %d descriptors came without their frames", ErrProtocol, n)
	}
	return nil
}

// grow continues a body that has separate memory.
func (rd *reader) grow(handle func(*Frame)) error {
	rd.bigHas += rd.n
	if rd.files.len() > 0 {
		return fmt.Errorf("%w: a descriptor came within a body", ErrProtocol)
	}
	if rd.bigHas < len(rd.big) {
		return nil
	}
	f := rd.begin(rd.bigHead)
	f.Body, f.owned = rd.big, true
	rd.big = nil
	rd.hand(handle)
	return nil
}

// begin fills the reader's one frame, which is reused because it would escape to the heap with every call.
func (rd *reader) begin(h header) *Frame {
	rd.frame = Frame{Kind: h.kind, Flags: h.flags, ID: h.id, Nanos: h.nanos}
	return &rd.frame
}

// hand passes the frame to handle. The reader keeps nothing of it, because its body may be large.
func (rd *reader) hand(handle func(*Frame)) {
	handle(&rd.frame)
	switch {
	case rd.frame.mapped:
		unmap(rd.frame.Body)
	case rd.frame.owned:
		bufpool.Put(rd.frame.Body)
	case rd.frame.fd > 0:
		unix.Close(rd.frame.Descriptor())
	}
	rd.frame = Frame{}
}

// frames passes the complete frames in the buffer to handle.
func (rd *reader) frames(handle func(*Frame)) error {
	for rd.w-rd.r >= HeaderSize {
		h, err := parseHeader(rd.buf[rd.r:])
		if err != nil {
			return err
		}
		f := rd.begin(h)
		var lent []byte // a body in the buffer, which is the handler's while it runs
		switch {
		case h.flags&FlagFile != 0:
			rd.r += HeaderSize
			if err := rd.attach(f); err != nil {
				return err
			}
		case h.length >= ownedMin:
			body := bufpool.Get(int(h.length))
			have := copy(body, rd.buf[rd.r+HeaderSize:rd.w])
			rd.r += HeaderSize + have
			if have < len(body) {
				rd.big, rd.bigHas, rd.bigHead = body, have, h
				return nil
			}
			f.Body, f.owned = body, true
		default:
			end := rd.r + HeaderSize + int(h.length)
			if end > rd.w {
				rd.makeRoom(HeaderSize + int(h.length))
				return nil
			}
			lent = rd.buf[rd.r+HeaderSize : end]
			f.Body = lent
			rd.r = end
		}
		rd.hand(handle)
		bufpool.Poison(lent)
	}
	return nil
}

// makeRoom makes room for a frame of that size, which begins at r.
func (rd *reader) makeRoom(size int) {
	if rd.r+size <= len(rd.buf) {
		return
	}
	buf := rd.buf
	if size > len(buf) {
		buf = make([]byte, 2*size)
	}
	rd.w = copy(buf, rd.buf[rd.r:rd.w])
	rd.r = 0
	rd.buf = buf
}

// attach adds the descriptor that came with a frame: a memory file becomes its body, a log pipe and the socket of a
// call stay descriptors. A socket may be lost: its other end then sees that it is closed.
func (rd *reader) attach(f *Frame) error {
	fd, ok := rd.files.next()
	if !ok {
		return fmt.Errorf("%w: a file frame came without its descriptor", ErrProtocol)
	}
	if fd == lost && f.Kind != KindCalls {
		return fmt.Errorf("receive descriptors: %w", unix.EMFILE)
	}
	if f.Kind == KindLogPipe || f.Kind == KindCalls || rd.keepFiles {
		f.fd = fd + 1
		return nil
	}
	defer unix.Close(fd)
	body, err := mapFile(fd)
	if err != nil {
		return err
	}
	f.Body, f.mapped = body, len(body) > 0
	return nil
}

// mapFile maps the whole of a memory file. The sender has written it and closed its descriptor.
func mapFile(fd int) ([]byte, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, fmt.Errorf("stat memory file: %w", err)
	}
	if st.Size == 0 {
		return nil, nil
	}
	body, err := unix.Mmap(fd, 0, int(st.Size), unix.PROT_READ, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return nil, fmt.Errorf("map memory file of %d bytes: %w", st.Size, err)
	}
	return body, nil
}

func unmap(b []byte) { _ = unix.Munmap(b) } // fails only for an address that was never mapped
