package ipc

import (
	"fmt"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// writer is the sending half of a Conn: a combining writer. Whoever finds no write in progress
// writes its own frame and all that others queue meanwhile; where the socket is full, a goroutine
// of its own finishes, so that no request waits behind another's body.
type writer struct {
	raw syscall.RawConn

	mu      sync.Mutex
	pending batch
	active  bool // somebody writes: cur, done and stop are its own
	closed  bool
	err     error

	cur  batch // being written; what is out of its parts is cut off
	done int   // bytes of its data that are out
	gone int   // and how many of its parts
	stop error // why cur cannot be finished
	once func(fd uintptr)
	wait func(fd uintptr) bool
}

// largePart is from how many bytes on a part of a body is not copied: a copy costs as much as the socket's own, and its
// memory as much again.
const largePart = 64 << 10

// batch is bytes to send, with descriptors that go with the byte at their offset, and large parts that come before it.
type batch struct {
	data  []byte
	files []attachment
	parts []part
}

type attachment struct {
	offset int
	fd     int
}

type part struct {
	offset int // never that of a descriptor, but for one that comes after it
	data   []byte
}

// keepBytes bounds what an idle batch holds on to: one large frame must not cost for ever.
const keepBytes = 128 << 10

func (b *batch) reset() {
	for _, f := range b.files {
		unix.Close(f.fd)
	}
	if cap(b.data) > keepBytes {
		b.data = nil
	}
	clear(b.parts) // they are others', and large
	b.data, b.files, b.parts = b.data[:0], b.files[:0], b.parts[:0]
}

// add appends a part of a body.
func (b *batch) add(p []byte) {
	if len(p) < largePart {
		b.data = append(b.data, p...)
	} else {
		b.parts = append(b.parts, part{len(b.data), p})
	}
}

func (w *writer) init(raw syscall.RawConn) {
	w.raw = raw
	w.once = func(fd uintptr) { w.push(int(fd)) }
	w.wait = func(fd uintptr) bool {
		w.push(int(fd))
		return w.stop != nil || w.finished()
	}
}

func (w *writer) close() {
	w.mu.Lock()
	w.closed = true
	w.pending.reset()
	w.mu.Unlock()
}

func (w *writer) enqueue(kind Kind, flags uint8, id uint64, size int, parts [][]byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.failed(); err != nil {
		return err
	}
	w.pending.data = AppendHeader(w.pending.data, kind, flags, id, 0, size)
	for _, p := range parts {
		w.pending.add(p)
	}
	return nil
}

func (w *writer) enqueueFile(head []byte, fd int) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.failed(); err != nil {
		unix.Close(fd)
		return err
	}
	w.pending.files = append(w.pending.files, attachment{len(w.pending.data), fd})
	w.pending.data = append(w.pending.data, head...)
	return nil
}

func (w *writer) flush() error {
	w.mu.Lock()
	return w.drain()
}

// failed is why nothing can be sent any more, or nil. Called with the lock held.
func (w *writer) failed() error {
	if w.closed {
		return ErrClosed
	}
	return w.err
}

// drain writes until nothing is pending. Called with the lock held; returns with it released.
func (w *writer) drain() error {
	if w.active {
		w.mu.Unlock()
		return nil
	}
	w.active = true
	for len(w.pending.data) > 0 && w.failed() == nil {
		w.pending, w.cur = w.cur, w.pending
		w.done, w.gone = 0, 0
		w.mu.Unlock()
		if err := w.raw.Control(w.once); err != nil {
			w.stop = ErrClosed
		}
		if w.stop == nil && !w.finished() {
			go w.finish()
			return nil
		}
		w.mu.Lock()
		w.retire()
	}
	w.active = false
	err := w.failed()
	w.mu.Unlock()
	return err
}

// finish waits until the socket took the rest of cur, then goes on with what has come since.
func (w *writer) finish() {
	if err := w.raw.Write(w.wait); err != nil {
		w.stop = ErrClosed
	}
	w.mu.Lock()
	w.retire()
	w.active = false
	_ = w.drain() // its error is kept for the next Send; the reader sees the end by itself
}

// retire ends the work on cur. Called with the lock held.
func (w *writer) retire() {
	if w.stop != nil && w.err == nil {
		w.err = w.stop
	}
	w.cur.reset()
}

// finished tells whether all of cur is out.
func (w *writer) finished() bool { return w.done == len(w.cur.data) && w.gone == len(w.cur.parts) }

// push writes cur from done on, until it or the socket's room ends.
func (w *writer) push(fd int) {
	for !w.finished() && w.stop == nil {
		n, err := w.write(fd)
		switch err {
		case nil:
			w.advance(n)
		case unix.EINTR:
		case unix.EAGAIN:
			return
		default:
			w.stop = fmt.Errorf("%w: %w", ErrClosed, err)
		}
	}
}

// write writes what one system call can take: at most one descriptor, and at most one large part with what stands
// on both sides of it.
func (w *writer) write(fd int) (int, error) {
	before, rest := w.done, len(w.cur.data) // data up to before, then the part, then data up to rest
	var large []byte
	if parts := w.cur.parts[w.gone:]; len(parts) > 0 {
		before, large = parts[0].offset, parts[0].data
		if len(parts) > 1 {
			rest = parts[1].offset
		}
	}
	if files := w.cur.files; len(files) > 0 {
		switch at := files[0].offset; {
		case at > w.done || large != nil && at == before:
			rest = min(rest, at)
		default:
			if large != nil {
				rest = before
			}
			if len(files) > 1 {
				rest = min(rest, files[1].offset)
			}
			n, err := unix.SendmsgN(fd, w.cur.data[w.done:rest], unix.UnixRights(files[0].fd), nil, unix.MSG_NOSIGNAL)
			if err == nil { // on its way with the first byte, however few were taken
				unix.Close(files[0].fd)
				w.cur.files = files[1:]
			}
			return n, err
		}
	}
	if large == nil {
		return unix.Write(fd, w.cur.data[w.done:rest])
	}
	if rest < before { // a descriptor comes first
		return unix.Write(fd, w.cur.data[w.done:rest])
	}
	return unix.Writev(fd, [][]byte{w.cur.data[w.done:before], large, w.cur.data[before:rest]})
}

// advance notes that n bytes more are out.
func (w *writer) advance(n int) {
	for n > 0 {
		if w.gone == len(w.cur.parts) {
			w.done += n
			return
		}
		p := &w.cur.parts[w.gone]
		small := min(n, p.offset-w.done)
		w.done += small
		n -= small
		k := min(n, len(p.data))
		p.data = p.data[k:]
		n -= k
		if len(p.data) == 0 {
			w.gone++
		}
	}
}
