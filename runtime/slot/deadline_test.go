package slot

import (
	"fmt"
	"testing"
	"time"

	"pinion/runtime/predict"
	"pinion/tests/assert"
)

// startDue submits a call with a deadline.
func startDue(t testing.TB, p *Pool, name string, deadline time.Time) *testCall {
	t.Helper()
	return startWith(t, p, name, func(c *Call) { c.Deadline = deadline })
}

// TestDeadline_EarlierCounts: of a call's deadline and the pool's timeout the earlier one counts, and the model never
// sees a late call.
func TestDeadline_EarlierCounts(t *testing.T) {
	p, l := poolWithSlot(t, Options{Queue: 10, QueueTimeout: time.Hour})
	begin := time.Now().Add(time.Second)
	running := startDue(t, p, "running", begin) // the deadline is for its begin, not for its end
	r := l.begin()
	unhurried := startDue(t, p, "unhurried", time.Now().Add(2*time.Hour))
	window, waits := startDue(t, p, "window", begin.Add(short)), startDue(t, p, "waits", time.Now().Add(short))
	past := startDue(t, p, "past", time.Now())
	past.failed(predict.ErrQueueTimeout)
	waits.failed(predict.ErrQueueTimeout)
	window.failed(predict.ErrQueueTimeout)
	l.succeed(r)
	running.succeeded()
	unhurried.serveOne(l)
	empty(t, p)
}

// TestDeadline_OfOneAtIdleSlot: the slot's worker does not take the call.
func TestDeadline_OfOneAtIdleSlot(t *testing.T) {
	p, l := poolWithSlot(t, Options{})
	f := startDue(t, p, "late", time.Now().Add(short))
	f.failed(predict.ErrQueueTimeout)
	r := l.expect()
	assert.False(t, l.claim(r.id), "it could be begun after its time")
	empty(t, p)
}

// TestDeadline_QueuePosition: the order of arrival counts, over windows and queue.
func TestDeadline_QueuePosition(t *testing.T) {
	p, l := poolWithSlot(t, Options{Queue: 10})
	flights := startNumbered(t, p, 5) // two in the socket, three in the queue
	r := l.begin()
	for begun := range 5 {
		for i, f := range flights {
			assert.Equal(t, fmt.Sprintf("while %d runs, %d has position", begun, i), p.QueuePosition(f.Call), max(0, i-begun))
		}
		l.succeed(r)
		flights[begun].succeeded()
		if begun < 4 {
			r = l.begin()
		}
	}
	assert.Equal(t, "position of one that was not submitted", p.QueuePosition(NewCall("stranger", nil, nil)), 0)
	empty(t, p)
}

// TestDeadline_Throughput: the rate of ends while calls wait; the time without a queue does not count.
func TestDeadline_Throughput(t *testing.T) {
	now := time.Now()
	var m throughput
	m.callEnded(now) // nothing waits
	assert.Equal(t, "rate", m.perCall(), 0)
	m.start(now)
	for range minEnded {
		now = now.Add(2 * time.Second)
		m.callEnded(now)
	}
	assert.Equal(t, "one every", m.perCall(), 2*time.Second)
	m.pause(now)
	now = now.Add(time.Hour)
	m.start(now)
	m.callEnded(now.Add(2 * time.Second))
	assert.Equal(t, "a pause one every", m.perCall(), 2*time.Second)
	now = now.Add(2 * time.Second)
	for range 100_000 { // the rate follows a faster model soon
		now = now.Add(time.Millisecond)
		m.callEnded(now)
	}
	got := m.perCall()
	assert.True(t, got <= 2*time.Millisecond, "one every %s, want about 1 ms", got)
}

// TestDeadline_RetryAfter is the time in which the queue will have begun, by the measured rate.
func TestDeadline_RetryAfter(t *testing.T) {
	p := NewPool(Options{Queue: 9})
	p.admission.throughput = throughput{busy: 30 * time.Second, ended: 10}
	for i := range 9 {
		defer start(t, p, fmt.Sprint(i)).failed(ErrCanceled)
	}
	locked(p, func() error {
		if got := p.admission.retryAfter(p.slots); got < 27*time.Second || got > 30*time.Second {
			t.Errorf("Retry-After is %s, want %v to %v", got, 27*time.Second, 30*time.Second)
		}
		return nil
	})
	p.Refuse(ErrCanceled)
}
