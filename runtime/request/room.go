package request

import (
	"fmt"
	"io"

	"pinion/ipc/bufpool"
	"pinion/runtime/memory"
	"pinion/runtime/predict"
)

// RoomError means that the memory budget has no room for a request. Its cause is memory.ErrFull or memory.ErrTooLarge.
type RoomError struct {
	Bytes int64
	Cause error
}

func (e *RoomError) Error() string {
	return fmt.Sprintf("The request needs %d bytes of memory: %v (--memory-budget)", e.Bytes, e.Cause)
}

// Unwrap returns the cause.
func (e *RoomError) Unwrap() error { return e.Cause }

// Refusal says what the cause means for a client.
func (e *RoomError) Refusal() predict.Refusal { return predict.RefusalOf(e.Cause) }

// Sender is a connection that sends a body. Hold says by how many bytes the charge for what it sends has changed, and
// how many are still to come; negative means unknown.
type Sender interface{ Hold(n, rest int64) }

// Room is the charge for a body of unknown length. It grows with the body. It never waits, since two growing bodies
// could wait for each other's memory.
type Room struct {
	Budget *memory.Budget
	From   Sender // of the body; nil means it is here already

	bytes int64
	spare int64 // charged before, and not used yet
}

// use uses at most n bytes of spare, and returns how many are left to charge.
func (r *Room) use(n int64) int64 {
	used := min(n, r.spare)
	r.spare -= used
	r.bytes += used
	return n - used
}

// settle frees what of spare was not used.
func (r *Room) settle() {
	r.Budget.Free(r.spare)
	r.spare = 0
}

// grow charges n more bytes.
func (r *Room) grow(n int64) error {
	n = r.use(n)
	total := r.bytes + n
	if n > 0 && !r.Budget.TakeBody(n, total) {
		if r.Budget.Max() < total {
			return &RoomError{total, r.Budget.TooLarge()}
		}
		return &RoomError{total, memory.ErrFull}
	}
	r.bytes = total
	if n > 0 {
		r.hold(n)
	}
	return nil
}

// Free frees all that is charged.
func (r *Room) Free() { r.shrink(r.bytes) }

// Bytes returns the bytes that are charged.
func (r *Room) Bytes() int64 { return r.bytes }

func (r *Room) hold(n int64) {
	if r.From != nil {
		r.From.Hold(n, -1)
	}
}

func (r *Room) shrink(n int64) {
	r.bytes -= n
	r.Budget.Free(n)
	r.hold(-n)
}

// ReadAll reads from into memory that is charged. from bounds the size. With a *RoomError it returns what it has read.
func (r *Room) ReadAll(from io.Reader) ([]byte, error) {
	body := make([]byte, 0, memory.MinCharge)
	for {
		n, err := from.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case err == io.EOF:
			if len(body) > bufpool.Max {
				return body, r.grow(int64(len(body)))
			}
			return body, nil
		case err != nil:
			return nil, err
		case len(body) == cap(body):
			before := int64(cap(body))
			if err := r.grow(2 * before); err != nil {
				return body, err
			}
			body = append(make([]byte, 0, 2*before), body...)
			if before > memory.MinCharge {
				r.shrink(before)
			}
		}
	}
}
