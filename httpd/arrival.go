package httpd

import (
	"errors"
	"time"

	"github.com/valyala/fasthttp"

	"pinion/runtime/memory"
	"pinion/runtime/request"
)

// headCost is what a header that does not come at once takes: fasthttp's buffer, goroutine and context, and the copy of
// its last line in framing.
const headCost = 3 * readBuffer

// inUseCost is about what a connection takes from its request to its answer, beside its body and headers: fasthttp's
// buffers, goroutine and context, and what a prediction has that waits.
const inUseCost = 40 << 10

var (
	// errSlow: the client sent so slowly that its memory, or its connection, was given to others.
	errSlow = errors.New("the request came too slowly while memory or connections were short")
	// errNoRoom: the memory budget has no room for a header.
	errNoRoom = errors.New("no memory for the request's header")
)

// beginArrival lets the client be cut while it sends a header or a body and others wait for the memory that it holds.
func (c *conn) beginArrival() {
	if c == nil || c.srv.opt.Memory == nil {
		return
	}
	c.wakeMu.Lock()
	c.arriving = true
	c.wakeMu.Unlock()
	c.srv.opt.Memory.Begin(&c.arrival, c.cut)
}

// Hold changes what the arrival has charged to the budget by n bytes; rest is how many are still to come, negative:
// unknown.
func (c *conn) Hold(n, rest int64) {
	if c == nil || !c.arriving {
		return
	}
	c.held += n
	c.arrival.Hold(c.held, rest)
}

// pauseArrival says that the client is not to blame for what does not come, until the next Hold.
func (c *conn) pauseArrival() {
	if c != nil && c.arriving {
		c.arrival.Hold(0, 0)
	}
}

// endArrival ends what beginArrival began, if anything.
func (c *conn) endArrival() {
	if c == nil || !c.arriving {
		return
	}
	c.arrival.End()
	c.held = 0
	c.wakeMu.Lock()
	c.arriving = false
	c.wakeMu.Unlock()
}

// cut ends the connection's reads. Safe from any goroutine.
func (c *conn) cut() {
	c.wakeMu.Lock()
	defer c.wakeMu.Unlock()
	if c.arriving {
		c.endReads()
	}
}

// cutReceiving ends the connection's reads if one waits for the rest of a request, and reports whether it did. Safe from
// any goroutine.
func (c *conn) cutReceiving() bool {
	if c.receiving.Load() == 0 {
		return false
	}
	c.endReads()
	return true
}

func (c *conn) endReads() {
	c.slow.Store(true)
	_ = c.Conn.SetReadDeadline(time.Unix(1, 0)) // fails once it is closed
}

// chargeHead charges a header of which more is to come, once.
func (c *conn) chargeHead() error {
	switch {
	case c.headCharged || !c.framing.inHead():
		return nil
	case !c.srv.opt.Memory.TakeArriving(headCost):
		c.noRoom = true
		return errNoRoom
	}
	c.headCharged = true
	c.beginArrival()
	c.Hold(headCost, readBuffer)
	return nil
}

// freeHead ends the charge of a header that has come, or will not.
func (c *conn) freeHead() {
	if c.headCharged {
		c.headCharged = false
		c.framing.pending = nil
		c.endArrival()
		c.srv.opt.Memory.Free(headCost)
	}
}

// chargeInUse charges what the connection takes until its request is answered, and two copies of the headers, if many
// connections are open. The error is a *request.RoomError.
func (c *conn) chargeInUse(h *fasthttp.RequestHeader) error {
	if c == nil || !c.srv.conns.many.Load() {
		return nil
	}
	more := inUseCost + 2*int64(len(h.RawHeaders())) - c.inUse
	if more <= 0 { // charged by the request before it, which came with it
		return nil
	}
	if !c.srv.opt.Memory.AdmitClient(more) {
		return &request.RoomError{Bytes: more, Cause: memory.ErrFull}
	}
	if !c.srv.opt.Memory.Take(more, more) {
		c.srv.opt.Memory.DismissClient(more)
		return &request.RoomError{Bytes: more, Cause: memory.ErrFull}
	}
	c.inUse += more
	return nil
}

// freeInUse ends the charge of a request that has been answered.
func (c *conn) freeInUse() {
	if c.inUse > 0 {
		c.srv.opt.Memory.DismissClient(c.inUse)
		c.srv.opt.Memory.Free(c.inUse)
		c.inUse = 0
	}
}
