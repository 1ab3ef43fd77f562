package ipc

import (
	"errors"
	"strings"
	"testing"
	"time"

	"pinion/tests/assert"
)

// polling waits until a Recv keeps its core.
func polling(t *testing.T) {
	t.Helper()
	assert.Eventually(t, "a read asks again and again", func() bool {
		return strings.Contains(assert.Stacks(), "(*reader).pollBusily")
	})
}

// TestBusypoll_RecvAsks: what comes while it asks is handed on.
func TestBusypoll_RecvAsks(t *testing.T) {
	noLeak(t)
	a, b := ends(t)
	body := filled(100, 1)
	done := make(chan error, 1)
	var got []message
	go func() {
		waited, err := recvBusyPoll(b, time.Hour, func(f *Frame) { got = append(got, keep(f)) })
		assert.False(t, waited, "it says that it waited")
		done <- err
	}()
	polling(t)
	assert.NoError(t, a.Send(KindPredict, 1, body))
	if err := <-done; err != nil || len(got) != 1 || !got[0].equal(message{Kind: KindPredict, ID: 1, Body: body}) {
		t.Errorf("got %v, %v, want len(got) 1 and got[0].equal(message{Kind: KindPredict, ID: 1, Body: body}) true", got, err)
	}
}

// TestBusypoll_RecvAsksOnce: a Recv after it does not, nor does what is left of it when it had its frame.
func TestBusypoll_RecvAsksOnce(t *testing.T) {
	noLeak(t)
	a, b := ends(t)
	assert.NoError(t, a.Send(KindPredict, 1))
	n := 0
	handle := func(*Frame) { n++ }
	if waited, err := recvBusyPoll(b, time.Hour, handle); waited || err != nil { // had at once
		t.Fatalf("got %t %v, want false", waited, err)
	}
	b.Interrupt()
	err := b.Recv(handle)
	assert.True(t, errors.Is(err, ErrInterrupted) && n == 1, "%d frames, then %v; want one, then an interruption", n, err)
}

// TestBusypoll_RecvWaits: when the time is over it is a Recv like any other.
func TestBusypoll_RecvWaits(t *testing.T) {
	noLeak(t)
	a, b := ends(t)
	n := 0
	receive := func() chan error {
		done := make(chan error, 1)
		go func() {
			waited, err := recvBusyPoll(b, time.Microsecond, func(*Frame) { n++ })
			assert.True(t, waited || err != nil, "it does not say that it waited")
			done <- err
		}()
		assert.Eventually(t, "the read waits", func() bool { return strings.Contains(assert.Stacks(), "IO wait") })
		return done
	}
	done := receive()
	assert.NoError(t, a.Send(KindPredict, 1))
	err := <-done
	assert.True(t, err == nil && n == 1, "%d frames, %v, want 1", n, err)
	done = receive()
	b.Interrupt()
	assert.ErrorIs(t, "interrupted", <-done, ErrInterrupted)
	done = receive()
	a.Close()
	assert.ErrorIs(t, "the other side closed", <-done, ErrClosed)
}

// TestBusypoll_RecvSeesEnd of the other side while it asks.
func TestBusypoll_RecvSeesEnd(t *testing.T) {
	noLeak(t)
	a, b := ends(t)
	done := make(chan error, 1)
	go func() {
		_, err := recvBusyPoll(b, time.Hour, func(*Frame) {})
		done <- err
	}()
	polling(t)
	a.Close()
	assert.ErrorIs(t, "error at the end", <-done, ErrClosed)
}

// recvBusyPoll reads once.
func recvBusyPoll(c *Conn, budget time.Duration, handle func(*Frame)) (waited bool, err error) {
	err = c.RecvWhile(budget, handle, func(blocked bool) (time.Duration, bool) {
		waited = blocked
		return once(blocked)
	})
	return waited, err
}
