package body

import (
	"time"

	"pinion/httpd/transport"
	"pinion/ipc/bufpool"
	"pinion/runtime/memory"
	"pinion/runtime/request"
)

// roomWait is how long a request waits for the memory that its body needs before the server answers 503.
const roomWait = 10 * time.Second

// inflateCost is about how many bytes inflating a zstd body takes: its window and buffers.
const inflateCost = maxWindow + 1<<20

// bodyCost returns how many bytes a body takes until its prediction has ended. A large body is counted twice: its copy
// for the worker is another buffer.
func bodyCost(size int64) int64 {
	switch {
	case size < memory.MinCharge:
		return 0
	case size <= bufpool.Max:
		return int64(bufpool.Size(int(size)))
	}
	return 2 * size
}

// awaitRoom charges n bytes for a body, and waits until they are free. The wait does not count against the client's
// time for sending. The error is a *request.RoomError.
func (r *Reader) awaitRoom(c *transport.Conn, n int64) error {
	if n == 0 {
		return nil
	}
	return r.awaitIn(c, n, func() error { return r.Memory.Wait(n, roomWait, r.Stopping) })
}

// AwaitMore is awaitRoom for a request that holds some bytes already.
func (r *Reader) AwaitMore(c *transport.Conn, held, n int64) error {
	return r.awaitIn(c, n, func() error { return r.Memory.WaitMore(held, n, roomWait, r.Stopping) })
}

func (r *Reader) awaitIn(c *transport.Conn, n int64, wait func() error) error {
	c.PauseArrival()
	began := time.Now()
	if err := wait(); err != nil {
		return &request.RoomError{Bytes: n, Cause: err}
	}
	if c != nil {
		c.ExtendRead(time.Since(began))
	}
	return nil
}

// Few is up to which size a body is not charged for what is made of it.
const Few = 64 << 10

// ChargeCopies charges so many copies of a body that were not charged while it was read: it was compressed, chunked or
// on disk. After an error it has released the body.
func (r *Reader) ChargeCopies(c *transport.Conn, b *Body, copies int64) error {
	more := copies * int64(len(b.Data))
	if b.copies >= more || len(b.Data) <= Few {
		return nil
	}
	if err := r.AwaitMore(c, b.Charged, more); err != nil {
		b.Release()
		return err
	}
	b.Charged += more
	if b.budget == nil { // on disk
		b.budget = r.Memory
	}
	return nil
}
