package httpd

import (
	"fmt"
	"io"
	"time"

	"github.com/valyala/fasthttp"

	"pinion/runtime/memory"
	"pinion/runtime/spare"
)

// roomWait is how long a request waits for the memory that its body needs, before it is answered 503.
const roomWait = 10 * time.Second

// inflateCost is about how many bytes reading a zstd body takes: its window, and buffers.
const inflateCost = maxWindow + 1<<20

// bodyCost is how many bytes a body takes until its prediction has ended: the memory that it is read into, and, where it is
// large, the copy that is made to hand it to the worker.
func bodyCost(size int64) int64 {
	switch {
	case size < memory.Least:
		return 0
	case size <= spare.Max:
		return int64(spare.Size(int(size)))
	}
	return 2 * size
}

// awaitRoom charges n bytes for what a request is about to send, and waits for them. Its client must not pay for that with the
// time in which it may send. The error is a *roomError.
func (s *Server) awaitRoom(ctx *fasthttp.RequestCtx, n int64) error {
	if n == 0 {
		return nil
	}
	began := time.Now()
	if err := s.opt.Memory.Wait(n, roomWait, s.stop); err != nil {
		return &roomError{n, err}
	}
	if c, ok := ctx.Conn().(*conn); ok {
		c.readWish = c.readWish.Add(time.Since(began))
	}
	return nil
}

// roomError: the memory budget has no room for a request; its cause is memory.ErrFull or memory.ErrTooLarge.
type roomError struct {
	bytes int64
	cause error
}

func (e *roomError) Error() string {
	return fmt.Sprintf("The request needs %d bytes of memory: %v (--memory-budget)", e.bytes, e.cause)
}

// Unwrap is the cause.
func (e *roomError) Unwrap() error { return e.cause }

// lease is the memory of a body whose length is not known before its end. It grows with the body and does not wait: another
// might wait for what it has.
type lease struct {
	budget *memory.Budget
	bytes  int64
}

// grow charges n bytes more.
func (l *lease) grow(n int64) error {
	total := l.bytes + n
	if !l.budget.TakeBody(n, total) {
		if l.budget.Most() < total {
			return &roomError{total, memory.ErrTooLarge}
		}
		return &roomError{total, memory.ErrFull}
	}
	l.bytes = total
	return nil
}

// shrink gives n bytes back.
func (l *lease) shrink(n int64) {
	l.bytes -= n
	l.budget.Free(n)
}

// readAll reads r, which bounds it, into memory that is charged to l.
func (l *lease) readAll(r io.Reader) ([]byte, error) {
	body := make([]byte, 0, memory.Least)
	for {
		n, err := r.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case err == io.EOF:
			if len(body) > spare.Max { // see bodyCost
				return body, l.grow(int64(len(body)))
			}
			return body, nil
		case err != nil:
			return nil, err
		case len(body) == cap(body):
			before := int64(cap(body))
			if err := l.grow(2 * before); err != nil {
				return nil, err
			}
			body = append(make([]byte, 0, 2*before), body...)
			if before > memory.Least {
				l.shrink(before)
			}
		}
	}
}
