package ipc

import (
	"fmt"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"pinion/runtime/spare"
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

	cur  batch // being written
	done int   // bytes of cur that are out
	stop error // why cur cannot be finished
	once func(fd uintptr)
	wait func(fd uintptr) bool
}

// batch is bytes to send, with descriptors that go with the byte at their offset.
type batch struct {
	data  []byte
	files []attachment
}

type attachment struct {
	offset int
	fd     int
}

// keepBytes bounds what an idle batch holds on to: one large frame must not cost for ever.
const keepBytes = 128 << 10

func (b *batch) reset() {
	for _, f := range b.files {
		unix.Close(f.fd)
	}
	if cap(b.data) > keepBytes {
		spare.Put(b.data)
		b.data = nil
	}
	b.data, b.files = b.data[:0], b.files[:0]
}

// grow makes room for n bytes more, in spare memory where they are many.
func (b *batch) grow(n int) {
	if n < spare.Min || len(b.data)+n <= cap(b.data) {
		return // append sees to it
	}
	more := append(spare.Get(len(b.data) + n)[:0], b.data...)
	spare.Put(b.data)
	b.data = more
}

func (w *writer) init(raw syscall.RawConn) {
	w.raw = raw
	w.once = func(fd uintptr) { w.push(int(fd)) }
	w.wait = func(fd uintptr) bool {
		w.push(int(fd))
		return w.stop != nil || w.done == len(w.cur.data)
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
	w.pending.grow(HeaderSize + size)
	w.pending.data = AppendHeader(w.pending.data, kind, flags, id, 0, size)
	for _, p := range parts {
		w.pending.data = append(w.pending.data, p...)
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
		w.done = 0
		w.mu.Unlock()
		if err := w.raw.Control(w.once); err != nil {
			w.stop = ErrClosed
		}
		if w.stop == nil && w.done < len(w.cur.data) {
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

// push writes cur from done on, until it or the socket's room ends.
func (w *writer) push(fd int) {
	for w.done < len(w.cur.data) && w.stop == nil {
		end := len(w.cur.data)
		var rights []byte
		if files := w.cur.files; len(files) > 0 {
			if files[0].offset > w.done {
				end = files[0].offset
			} else {
				rights = unix.UnixRights(files[0].fd)
				if len(files) > 1 {
					end = files[1].offset
				}
			}
		}
		n, err := w.write(fd, w.cur.data[w.done:end], rights)
		switch err {
		case nil:
			if rights != nil { // on its way with the first byte, however few were taken
				unix.Close(w.cur.files[0].fd)
				w.cur.files = w.cur.files[1:]
			}
			w.done += n
		case unix.EINTR:
		case unix.EAGAIN:
			return
		default:
			w.stop = fmt.Errorf("%w: %w", ErrClosed, err)
		}
	}
}

func (w *writer) write(fd int, data, rights []byte) (int, error) {
	if rights == nil {
		return unix.Write(fd, data)
	}
	return unix.SendmsgN(fd, data, rights, nil, unix.MSG_NOSIGNAL)
}
