package jobqueue

import (
	"cmp"
	"context"
	"time"

	"pinion/runtime/jobqueue/store"
	"pinion/runtime/jobqueue/store/state"
	"pinion/runtime/predict"
)

// electionWait is how long requests wait for NATS, counted from when it was first seen not to answer: three servers of
// it choose a leader within 9 s. After that they are refused at once, until it answers.
const electionWait = 10 * time.Second

// outage is a time in which NATS does not answer.
type outage struct {
	why   string        // "" means this member is connected
	since time.Time     // when a request began that was not answered
	seen  time.Time     // when the last one was given up
	over  chan struct{} // closed at its end
}

// setProblem notes why NATS cannot be asked.
func (m *Member) setProblem(why string) { m.setOutage(why, time.Now()) }

// setOutage notes that NATS has not answered since then.
func (m *Member) setOutage(why string, since time.Time) {
	for {
		before := m.outage.Load()
		next := &outage{why, since, time.Now(), make(chan struct{})}
		if before != nil {
			next.over = before.over
			if next.why = cmp.Or(why, before.why); !before.forgotten() {
				next.since = before.since
			}
		}
		if m.outage.CompareAndSwap(before, next) {
			return
		}
	}
}

// forgotten reports whether too long ago nobody had an answer to say that there is none now.
func (o *outage) forgotten() bool { return o.why == "" && time.Since(o.seen) > electionWait }

// setAnswers notes that NATS answers.
func (m *Member) setAnswers() {
	if o := m.outage.Swap(nil); o != nil {
		close(o.over)
	}
}

func unavailable(why string) error {
	return &predict.UnavailableError{Reason: "The job queue takes no requests now: " + why}
}

// reached returns the queue, or why it cannot be asked now.
func (m *Member) reached() (*store.Queue, error) {
	if o := m.outage.Load(); o != nil && o.why != "" {
		return nil, unavailable(o.why)
	}
	return m.queue.Load(), nil
}

// asking is a request of a client's to the queue.
type asking struct {
	context.Context

	q     *store.Queue
	m     *Member
	begun time.Time
	end   context.CancelFunc
}

// ask returns the queue for a request with so many bytes, once it can be asked: until electionWait is over, or the
// deadline (zero: there is none), it waits. The caller calls done.
func (m *Member) ask(size int, deadline time.Time) (*asking, error) {
	a := &asking{m: m, begun: time.Now()}
	patience := electionWait
	for {
		o := m.outage.Load()
		if o == nil || o.forgotten() {
			break
		}
		patience = electionWait - a.begun.Sub(o.since)
		if o.why == "" {
			break
		}
		if !m.await(o, deadline) {
			return nil, unavailable(o.why)
		}
	}
	a.q = m.queue.Load()
	a.Context, a.end = state.WithIdleTimeout(max(patience, leastWait+state.OnSlowLink(size)), 0)
	if !deadline.IsZero() {
		bounded, end := context.WithDeadline(a.Context, deadline)
		idle := a.end
		a.Context, a.end = bounded, func() { end(); idle() }
	}
	return a, nil
}

// leastWait is how long NATS may take to answer a request even if it did not answer those before.
const leastWait = time.Second

// await waits for the end of an outage, and reports whether it came in time.
func (m *Member) await(o *outage, deadline time.Time) bool {
	end := o.since.Add(electionWait)
	if !deadline.IsZero() && deadline.Before(end) {
		end = deadline
	}
	timer := time.NewTimer(time.Until(end))
	defer timer.Stop()
	select {
	case <-o.over:
		return true
	case <-timer.C:
	case <-m.sending.Done():
	}
	return false
}

// done ends the request, with what came of it.
func (a *asking) done(err error) {
	a.end()
	if state.Temporary(err) {
		a.m.setOutage("", a.begun)
	} else if o := a.m.outage.Load(); o != nil && o.why == "" {
		a.m.setAnswers()
	}
}
