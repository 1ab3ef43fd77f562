package transport

import (
	"errors"
	"time"

	"github.com/valyala/fasthttp"

	"pinion/runtime/memory"
	"pinion/runtime/request"
)

// HeadCost is how much memory a header takes that does not come at once: fasthttp's buffer, goroutine and context, and
// the copy of its last line in framing.
const HeadCost = 3 * ReadBuffer

// InUseCost is about how much memory a connection takes from its request to its answer, beside its body and headers:
// fasthttp's buffers, goroutine and context, and what a prediction has that waits.
const InUseCost = 40 << 10

var (
	// ErrSlow means that the client sent so slowly that its memory, or its connection, was given to others.
	ErrSlow = errors.New("the request came too slowly while memory or connections were short")
	// errNoRoom means that the memory budget has no room for a header.
	errNoRoom = errors.New("no memory for the request's header")
)

// BeginArrival lets the client be cut while it sends a header or a body and others wait for the memory that it holds.
func (c *Conn) BeginArrival() {
	if c == nil || c.t.opt.Memory == nil {
		return
	}
	c.wakeMu.Lock()
	c.arriving = true
	c.wakeMu.Unlock()
	c.t.opt.Memory.Begin(&c.arrival, c.cut)
}

// Hold changes what the arrival has charged to the budget by n bytes; rest is how many are still to come; negative
// means unknown.
func (c *Conn) Hold(n, rest int64) {
	if c == nil || !c.arriving {
		return
	}
	c.charged += n
	c.arrival.Hold(c.charged, rest)
}

// PauseArrival keeps the client from being cut for slowness until the next Hold, because the server causes the delay.
func (c *Conn) PauseArrival() {
	if c != nil && c.arriving {
		c.arrival.Hold(0, 0)
	}
}

// EndArrival ends what BeginArrival began, if anything.
func (c *Conn) EndArrival() {
	if c == nil || !c.arriving {
		return
	}
	c.arrival.End()
	c.charged = 0
	c.wakeMu.Lock()
	c.arriving = false
	c.wakeMu.Unlock()
}

// cut ends the connection's reads. Safe from any goroutine.
func (c *Conn) cut() {
	c.wakeMu.Lock()
	defer c.wakeMu.Unlock()
	if c.arriving {
		c.endReads()
	}
}

// cutReceiving ends the connection's reads if one waits for the rest of a request, and reports whether it did. Safe
// from any goroutine.
func (c *Conn) cutReceiving() bool {
	if c.receiving.Load() == 0 {
		return false
	}
	c.endReads()
	return true
}

func (c *Conn) endReads() {
	c.slow.Store(true)
	_ = c.Conn.SetReadDeadline(time.Unix(1, 0)) // fails once it is closed
}

// chargeHead charges a header of which more is to come, once.
func (c *Conn) chargeHead() error {
	switch {
	case c.headCharged || !c.framing.inHead():
		return nil
	case !c.t.opt.Memory.TakeArriving(HeadCost):
		c.noRoom = true
		return errNoRoom
	}
	c.headCharged = true
	c.BeginArrival()
	c.Hold(HeadCost, ReadBuffer)
	return nil
}

// freeHead ends the charge of a header that has come, or will not.
func (c *Conn) freeHead() {
	if c.headCharged {
		c.headCharged = false
		c.framing.shrink()
		c.EndArrival()
		c.t.opt.Memory.Free(HeadCost)
	}
}

// ChargeInUse charges what the connection takes until its request is answered, and two copies of the headers, if many
// connections are open. The error is a *request.RoomError.
func (c *Conn) ChargeInUse(h *fasthttp.RequestHeader) error {
	if c == nil || !c.t.conns.many.Load() {
		return nil
	}
	more := InUseCost + 2*int64(len(h.RawHeaders())) - c.inUse
	if more <= 0 { // charged already by a pipelined request before it
		return nil
	}
	if !c.t.opt.Memory.AdmitClient(more) {
		return &request.RoomError{Bytes: more, Cause: memory.ErrFull}
	}
	if !c.t.opt.Memory.Take(more, more) {
		c.t.opt.Memory.DismissClient(more)
		return &request.RoomError{Bytes: more, Cause: memory.ErrFull}
	}
	c.inUse += more
	return nil
}

// HoldAnswer charges an answer of so many bytes until the client has taken it. The error is a *request.RoomError.
func (c *Conn) HoldAnswer(size int64) error {
	if c == nil || size < memory.MinCharge {
		return nil
	}
	if !c.t.opt.Memory.Take(size, size) {
		return &request.RoomError{Bytes: size, Cause: memory.ErrFull}
	}
	c.answer += size
	return nil
}

// freeInUse ends the charges of a request that has been answered.
func (c *Conn) freeInUse() {
	if c.answer > 0 {
		c.t.opt.Memory.Free(c.answer)
		c.answer = 0
	}
	if c.inUse > 0 {
		c.t.opt.Memory.DismissClient(c.inUse)
		c.t.opt.Memory.Free(c.inUse)
		c.inUse = 0
	}
}
