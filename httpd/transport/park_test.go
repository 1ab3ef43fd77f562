package transport

import (
	"testing"
	"time"

	"pinion/tests/assert"
)

const (
	get  = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
	hold = "POST /hold HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"
)

// TestPark_ConnectionKeepsIdleTimeout: the timeout holds while it is parked.
func TestPark_ConnectionKeepsIdleTimeout(t *testing.T) {
	s := serve(t, Options{IdleTimeout: time.Hour, ParkAbove: -1, SweepInterval: time.Millisecond})
	c := s.dial(t)
	c.send(get)
	c.want(200)
	assert.Eventually(t, "it is parked", func() bool { return s.Stats().Parked == 1 })
	s.conns.mu.Lock()
	for c := range s.conns.open {
		left := time.Until(s.began.Add(time.Duration(c.until.Load())))
		assert.True(t, left >= 50*time.Minute && left <= time.Hour, "got %v left, want nearly an hour", left)
		c.until.Store(int64(time.Since(s.began) - time.Second))
	}
	s.conns.mu.Unlock()
	c.ended()
	assert.Eventually(t, "none is open", func() bool { return s.Stats().Open == 0 })
}

// TestPark_OnlyIdleConnections: one within a request's header, one within its body and one that waits for its answer
// are woken, and nothing comes of it. One that has not sent a byte is parked from the beginning.
func TestPark_OnlyIdleConnections(t *testing.T) {
	parksOnlyIdle(t, Options{ParkAbove: -1, SweepInterval: time.Millisecond})
}

func parksOnlyIdle(t *testing.T, o Options) {
	t.Helper()
	s := serve(t, o)
	fresh, head, body, waiting := s.dial(t), s.dial(t), s.dial(t), s.dial(t)
	head.send(hold[:10])
	body.send(hold[:len(hold)-2])
	waiting.send(hold)
	<-s.held
	assert.Eventually(t, "all are known", func() bool { return s.Stats().Open == 4 })
	for range 10 {
		s.conns.mu.Lock()
		conns := make([]*Conn, 0, 4)
		for c := range s.conns.open {
			conns = append(conns, c)
		}
		s.conns.mu.Unlock()
		for _, c := range conns {
			c.wakeRead()
		}
		s.sweep()
	}
	assert.Eventually(t, "the silent one alone is parked", func() bool { return s.Stats().Parked == 1 })
	close(s.release)
	waiting.want(200)
	body.send(hold[len(hold)-2:])
	body.want(200)
	head.send(hold[10:])
	head.want(200)
	fresh.send(get)
	fresh.want(200)
}
