package ipc

import (
	"errors"
	"fmt"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// writer is the sending half of a Conn: a combining writer. A goroutine that finds no write in progress writes its own
// frame and all that others queue meanwhile. If the socket is full, a new goroutine finishes, so that no request waits
// for another's body.
type writer struct {
	raw syscall.RawConn

	mu      sync.Mutex
	pending batch
	active  bool // a goroutine writes, and owns cur, done and stop
	closed  bool
	err     error

	cur       batch    // being written; sent bytes of its parts are cut off
	done      int      // bytes of its data that are sent
	partsDone int      // parts of it that are sent
	stop      error    // why cur cannot be finished
	out       [][]byte // the argument of a write, reused
	once      func(fd uintptr)
	wait      func(fd uintptr) bool
}

// largePart is the size in bytes from which a part of a body is not copied. A copy costs as much time as the socket's
// own, and its memory as much again.
const largePart = 4 << 10

// maxVector is how many pieces one system call sends. The kernel accepts 1024.
const maxVector = 64

// batch holds bytes to send, descriptors that go with the byte at their offset, and large parts that come before that
// byte.
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
	offset int // never that of a descriptor, except for one that comes after it
	data   []byte
}

// keepBytes bounds the memory that an idle batch keeps after a large frame.
const keepBytes = 128 << 10

func (b *batch) reset() {
	for _, f := range b.files {
		unix.Close(f.fd)
	}
	if cap(b.data) > keepBytes {
		b.data = nil
	}
	clear(b.parts) // so that the callers' parts, which are large, can be freed
	b.data, b.files, b.parts = b.data[:0], b.files[:0], b.parts[:0]
}

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

// enqueue adds a frame for the next flush. The file fd goes with it, and is closed afterwards; noFile means that there
// is none. room is the size of the memory in that file that the worker may use.
func (w *writer) enqueue(fd int, kind Kind, flags uint8, id, room uint64, size int, parts [][]byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.failed(); err != nil {
		unix.Close(fd) // does nothing for noFile
		return err
	}
	if fd != noFile {
		w.pending.files = append(w.pending.files, attachment{len(w.pending.data), fd})
	}
	w.pending.data = AppendHeader(w.pending.data, kind, flags, id, room, size)
	for _, p := range parts {
		w.pending.add(p)
	}
	return nil
}

const noFile = -1

func (w *writer) flush() error {
	w.mu.Lock()
	return w.drain()
}

// failed returns why nothing can be sent any more, or nil. Called with the lock held.
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
		w.done, w.partsDone = 0, 0
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

// finish waits until the socket has accepted the rest of cur, then writes what was queued since.
func (w *writer) finish() {
	if err := w.raw.Write(w.wait); err != nil {
		w.stop = ErrClosed
	}
	w.mu.Lock()
	w.retire()
	w.active = false
	_ = w.drain() // its error is kept for the next Send; the reader notices the end itself
}

// retire ends the work on cur. Called with the lock held.
func (w *writer) retire() {
	if w.stop != nil && w.err == nil {
		w.err = w.stop
	}
	w.cur.reset()
}

func (w *writer) finished() bool { return w.done == len(w.cur.data) && w.partsDone == len(w.cur.parts) }

// push writes cur from done on, until it is sent or the socket is full.
func (w *writer) push(fd int) {
	for !w.finished() && w.stop == nil {
		n, err := w.write(fd)
		switch {
		case err == nil:
			w.advance(n)
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN):
			return
		default:
			w.stop = fmt.Errorf("%w: %w", ErrClosed, err)
		}
	}
}

// write writes what one system call accepts: a descriptor is sent with what follows it, and with nothing before it.
func (w *writer) write(fd int) (int, error) {
	to := len(w.cur.data)
	if files := w.cur.files; len(files) > 0 {
		if to = files[0].offset; to == w.done && !w.cur.hasPart(w.partsDone, to) {
			return w.writeFile(fd)
		}
	}
	w.out = w.cur.gather(w.out[:0], w.done, w.partsDone, to)
	var n int
	var err error
	if len(w.out) == 1 {
		n, err = unix.Write(fd, w.out[0])
	} else {
		n, err = unix.Writev(fd, w.out)
	}
	clear(w.out) // so that the callers' parts can be freed
	return n, err
}

// writeFile writes the descriptor whose turn it is, and what follows it up to the next piece.
func (w *writer) writeFile(fd int) (int, error) {
	to := len(w.cur.data)
	if w.partsDone < len(w.cur.parts) {
		to = w.cur.parts[w.partsDone].offset
	}
	if len(w.cur.files) > 1 {
		to = min(to, w.cur.files[1].offset)
	}
	file := w.cur.files[0].fd
	n, err := unix.SendmsgN(fd, w.cur.data[w.done:to], unix.UnixRights(file), nil, unix.MSG_NOSIGNAL)
	if err == nil { // sent with the first byte, however few were accepted
		unix.Close(file)
		w.cur.files = w.cur.files[1:]
	}
	return n, err
}

// hasPart reports whether there is a part of that number, and it belongs before the data at offset.
func (b *batch) hasPart(number, offset int) bool {
	return number < len(b.parts) && b.parts[number].offset <= offset
}

// gather appends what is sent next to list: data[done:to], and the parts that belong between its bytes.
func (b *batch) gather(list [][]byte, done, partsDone, to int) [][]byte {
	for ; b.hasPart(partsDone, to) && len(list) < maxVector-2; partsDone++ {
		p := b.parts[partsDone]
		if p.offset > done {
			list = append(list, b.data[done:p.offset])
		}
		list = append(list, p.data)
		done = p.offset
	}
	if !b.hasPart(partsDone, to) && to > done {
		list = append(list, b.data[done:to])
	}
	return list
}

// advance records that n more bytes are sent.
func (w *writer) advance(n int) {
	for n > 0 {
		if w.partsDone == len(w.cur.parts) {
			w.done += n
			return
		}
		p := &w.cur.parts[w.partsDone]
		small := min(n, p.offset-w.done)
		w.done += small
		n -= small
		k := min(n, len(p.data))
		p.data = p.data[k:]
		n -= k
		if len(p.data) == 0 {
			w.partsDone++
		}
	}
}
