package slot

import (
	"fmt"
	"testing"
	"time"

	"pinion/runtime/predict"
	"pinion/tests/await"
)

// due submits a call with a deadline of its own.
func due(t *testing.T, p *Pool, name string, deadline time.Time) *flight {
	t.Helper()
	f := newFlight(t, p, name)
	f.Deadline = deadline
	p.Submit(f.Call)
	f.wait()
	return f
}

// TestDeadline: each call has its own, the earlier one counts, and the model never sees what is late.
func TestDeadline(t *testing.T) {
	await.NoLeak(t)
	p := NewPool(Options{Queue: 10, QueueTimeout: time.Hour})
	l := newWorker(t, p, 1).lines[0]
	running := due(t, p, "running", time.Now().Add(2*short)) // its time to begin is not its time to run
	r := l.begin()
	patient := due(t, p, "patient", time.Now().Add(2*time.Hour))
	window, waits := due(t, p, "window", time.Now().Add(2*short)), due(t, p, "waits", time.Now().Add(short))
	past := due(t, p, "past", time.Now())
	past.failed(predict.ErrQueueTimeout)
	waits.failed(predict.ErrQueueTimeout)
	window.failed(predict.ErrQueueTimeout)
	l.succeed(r)
	running.succeeded()
	l.succeed(l.begin())
	patient.succeeded()
	empty(t, p)
}

// TestDeadlineOfOneAtAnIdleSlot that the worker does not come to.
func TestDeadlineOfOneAtAnIdleSlot(t *testing.T) {
	await.NoLeak(t)
	p := NewPool(Options{})
	l := newWorker(t, p, 1).lines[0]
	f := due(t, p, "late", time.Now().Add(short))
	f.failed(predict.ErrQueueTimeout)
	if r := l.expect(); l.claim(r.id) {
		t.Error("it could be begun after its time")
	}
	empty(t, p)
}

// TestPlace: the line is the order of arrival, over windows and queue.
func TestPlace(t *testing.T) {
	await.NoLeak(t)
	p := NewPool(Options{Queue: 10})
	l := newWorker(t, p, 1).lines[0]
	var flights []*flight
	for i := range 5 { // two in the socket, three in the queue
		flights = append(flights, start(t, p, fmt.Sprint(i)))
	}
	r := l.begin()
	for begun := range 5 {
		for i, f := range flights {
			if got := p.Place(f.Call); got != max(0, i-begun) {
				t.Errorf("while %d runs, %d has place %d", begun, i, got)
			}
		}
		l.succeed(r)
		flights[begun].succeeded()
		if begun < 4 {
			r = l.begin()
		}
	}
	if got := p.Place(NewCall("stranger", nil, nil)); got != 0 {
		t.Errorf("one that was not submitted has place %d", got)
	}
	empty(t, p)
}

// TestMeter: the rate is that of ends while something waits; the time without a queue does not count.
func TestMeter(t *testing.T) {
	now := time.Now()
	var m meter
	m.end(now) // nothing waits
	if m.each() != 0 {
		t.Error("it knows a rate")
	}
	m.begin(now)
	for range meterFew {
		now = now.Add(2 * time.Second)
		m.end(now)
	}
	if got := m.each(); got != 2*time.Second {
		t.Errorf("one every %s, want 2 s", got)
	}
	m.pause(now)
	now = now.Add(time.Hour)
	m.begin(now)
	m.end(now.Add(2 * time.Second))
	if got := m.each(); got != 2*time.Second {
		t.Errorf("after a pause one every %s, want 2 s", got)
	}
	now = now.Add(2 * time.Second)
	for range 100_000 { // it is faster now, and that counts soon
		now = now.Add(time.Millisecond)
		m.end(now)
	}
	if got := m.each(); got > 2*time.Millisecond {
		t.Errorf("one every %s, want about 1 ms", got)
	}
}

// TestRetryAfter is the time in which what waits will have begun, by the rate that was seen.
func TestRetryAfter(t *testing.T) {
	p := NewPool(Options{Queue: 9})
	p.meter = meter{busy: 30 * time.Second, ended: 10}
	for i := range 9 {
		defer start(t, p, fmt.Sprint(i)).failed(ErrCanceled)
	}
	locked(p, func() error {
		if got := p.drainTime(); got < 27*time.Second || got > 30*time.Second {
			t.Errorf("Retry-After is %s", got)
		}
		return nil
	})
	p.Refuse(ErrCanceled)
}
