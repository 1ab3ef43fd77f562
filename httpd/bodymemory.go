package httpd

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
func (s *Server) awaitRoom(c *transport.Conn, n int64) error {
	if n == 0 {
		return nil
	}
	return s.awaitIn(c, n, func() error { return s.opt.Memory.Wait(n, roomWait, s.transport.Stopping()) })
}

// awaitMore is awaitRoom for a request that holds some bytes already.
func (s *Server) awaitMore(c *transport.Conn, held, n int64) error {
	return s.awaitIn(c, n, func() error { return s.opt.Memory.WaitMore(held, n, roomWait, s.transport.Stopping()) })
}

func (s *Server) awaitIn(c *transport.Conn, n int64, wait func() error) error {
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
