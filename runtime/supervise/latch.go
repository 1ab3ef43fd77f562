package supervise

import "sync"

// latch is a channel that is closed once, by any goroutine.
type latch struct {
	closed chan struct{}
	close  func()
}

func newLatch() latch {
	c := make(chan struct{})
	return latch{closed: c, close: sync.OnceFunc(func() { close(c) })}
}
