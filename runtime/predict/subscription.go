package predict

import (
	"io"

	"pinion/runtime/memory"
)

// subscriberCost is about how many bytes a subscriber takes: its goroutine, what it has taken and not written, and its buffers.
const subscriberCost = 32 << 10

// Subscription follows a prediction's events. One goroutine uses it.
type Subscription struct {
	p    *Prediction
	feed *feed
	wake chan struct{} // one token: look again
	// One token: it has caught up; see pace.
	taken chan struct{}

	// Guarded by p.mu.
	next    uint64 // number of the event that is due
	joined  uint64 // number of the first event that it did not come too late for
	waiting bool
	missed  *MissedError // why it cannot be followed from its beginning
	closed  bool
	paced   bool // pace waits for it
	slow    bool // nobody waits for it any more
}

// Subscribe follows the prediction from its first event on, as far as these are kept; without a history, from
// the next event on. It returns
// ErrTooManySubscribers where MaxSubscribers follow it, memory.ErrFull where there is no memory for another, and ErrNotTold where nobody asked for its events
// when it was made.
func (p *Prediction) Subscribe() (*Subscription, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := p.feed
	switch {
	case !p.told:
		return nil, ErrNotTold
	case f == nil: // it ended meanwhile, and all that is left is its record
		f = &feed{history: DefaultHistory}
		f.add(Event{Kind: EventEnd}, 0)
	}
	if len(f.subs) >= MaxSubscribers {
		return nil, ErrTooManySubscribers
	}
	if !p.afford(subscriberCost) {
		return nil, memory.ErrFull
	}
	s := &Subscription{p: p, feed: f, wake: make(chan struct{}, 1), taken: make(chan struct{}, 1), joined: f.next}
	switch {
	case f.history == 0 && f.ended: // the last event has the whole prediction
		s.next = f.next - 1
	case f.history == 0: // replay is off: it follows from here on
		s.next = f.next
	case f.next > f.history:
		s.missed = &MissedError{Replay: true, Skipped: f.next - f.history}
	}
	f.subs = append(f.subs, s)
	return s, nil
}

// Next appends the events that have come to dst, at most as many as it has room for; where there are
// none it waits. The error is io.EOF after the last event, ErrStopped when stop is closed, and
// *MissedError when events were lost: nothing comes after it.
func (s *Subscription) Next(dst []Event, stop <-chan struct{}) ([]Event, error) {
	p, before := s.p, len(dst)
	for {
		p.mu.Lock()
		f := s.feed
		if behind := f.next - max(s.next, s.joined); s.missed == nil && behind > subscriberBuffer {
			s.missed = &MissedError{Skipped: behind - subscriberBuffer}
		}
		if s.missed != nil {
			p.mu.Unlock()
			return dst, s.missed
		}
		dst = f.since(dst, s.next, p.record.Output)
		s.next += uint64(len(dst) - before)
		s.caughtUp()
		ended := f.ended && s.next == f.next
		s.waiting = len(dst) == before && !ended
		wait := s.waiting
		p.mu.Unlock()
		switch {
		case len(dst) > before:
			return dst, nil
		case !wait:
			return dst, io.EOF
		}
		select {
		case <-s.wake:
		case <-stop:
			return dst, ErrStopped
		}
	}
}

// poke tells a waiting subscriber that there is something new. Called with the lock held.
func (s *Subscription) poke() {
	if !s.waiting {
		return
	}
	s.waiting = false
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Close ends the subscription. When the last one of a prediction that a stream request made is closed
// before its end, nobody waits for the prediction any more, and it is cancelled.
func (s *Subscription) Close() {
	p := s.p
	p.mu.Lock()
	if s.closed {
		p.mu.Unlock()
		return
	}
	s.closed = true
	p.spent -= subscriberCost
	s.caughtUp()
	s.feed.leave(s)
	abandoned := len(s.feed.subs) == 0 && p.Request.Mode == Stream && !p.record.Status.Terminal()
	p.mu.Unlock()
	if abandoned {
		p.Cancel()
	}
}
