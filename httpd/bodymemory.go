package httpd

import (
	"fmt"
	"io"
	"time"

	"pinion/ipc/bufpool"
	"pinion/runtime/memory"
)

// roomWait is how long a request waits for the memory that its body needs before the server answers 503.
const roomWait = 10 * time.Second

// inflateCost is about how many bytes inflating a zstd body takes: its window and buffers.
const inflateCost = maxWindow + 1<<20

// bodyCost is how many bytes a body takes until its prediction has ended. A large body is counted twice: its copy for
// the worker is another buffer.
func bodyCost(size int64) int64 {
	switch {
	case size < memory.Least:
		return 0
	case size <= bufpool.Max:
		return int64(bufpool.Size(int(size)))
	}
	return 2 * size
}

// awaitRoom charges n bytes for a body, and waits until they are free. The wait does not count against the client's
// time for sending. The error is a *roomError.
func (s *Server) awaitRoom(c *conn, n int64) error {
	if n == 0 {
		return nil
	}
	c.pauseArrival()
	began := time.Now()
	if err := s.opt.Memory.Wait(n, roomWait, s.stop); err != nil {
		return &roomError{n, err}
	}
	if c != nil {
		c.readWanted = c.readWanted.Add(time.Since(began))
	}
	return nil
}

// roomError means that the memory budget has no room for a request. Its cause is memory.ErrFull or memory.ErrTooLarge.
type roomError struct {
	bytes int64
	cause error
}

func (e *roomError) Error() string {
	return fmt.Sprintf("The request needs %d bytes of memory: %v (--memory-budget)", e.bytes, e.cause)
}

// Unwrap returns the cause.
func (e *roomError) Unwrap() error { return e.cause }

// lease is the charge for a body of unknown length. It grows with the body. It never waits, since two growing bodies
// could wait for each other's memory.
type lease struct {
	budget *memory.Budget
	bytes  int64
	spare  int64 // charged before, and not used yet
	from   *conn // sends the body; nil: no connection of ours
}

// use uses at most n bytes of spare, and returns how many are left to charge.
func (l *lease) use(n int64) int64 {
	used := min(n, l.spare)
	l.spare -= used
	l.bytes += used
	return n - used
}

// settle frees what of spare was not used.
func (l *lease) settle() {
	l.budget.Free(l.spare)
	l.spare = 0
}

// grow charges n more bytes.
func (l *lease) grow(n int64) error {
	n = l.use(n)
	total := l.bytes + n
	if n > 0 && !l.budget.TakeBody(n, total) {
		if l.budget.Most() < total {
			return &roomError{total, l.budget.TooLarge()}
		}
		return &roomError{total, memory.ErrFull}
	}
	l.bytes = total
	if n > 0 {
		l.from.hold(n, -1)
	}
	return nil
}

func (l *lease) shrink(n int64) {
	l.bytes -= n
	l.budget.Free(n)
	l.from.hold(-n, -1)
}

// readAll reads r into memory that is charged to l. r bounds the size. With a *roomError it returns what it has read.
func (l *lease) readAll(r io.Reader) ([]byte, error) {
	body := make([]byte, 0, memory.Least)
	for {
		n, err := r.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case err == io.EOF:
			if len(body) > bufpool.Max { // see bodyCost
				return body, l.grow(int64(len(body)))
			}
			return body, nil
		case err != nil:
			return nil, err
		case len(body) == cap(body):
			before := int64(cap(body))
			if err := l.grow(2 * before); err != nil {
				return body, err
			}
			body = append(make([]byte, 0, 2*before), body...)
			if before > memory.Least {
				l.shrink(before)
			}
		}
	}
}
