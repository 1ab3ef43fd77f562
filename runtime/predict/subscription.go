package predict

import (
	"io"
	"slices"

	"pinion/runtime/memory"
)

// subscriberCost is about how many bytes a subscriber takes: its goroutine, its unwritten events, and the buffers of it
// and its connection.
const subscriberCost = 64 << 10

// Subscription follows a prediction's events. One goroutine uses it.
type Subscription struct {
	p    *Prediction
	feed *feed
	wake chan struct{} // a token means that there are new events
	// A token means that it has caught up; see pace.
	resumed chan struct{}
	direct  Taker // see Direct; nil means that it is always woken

	// Guarded by p.mu.
	next    uint64 // number of the next event to return
	joined  uint64 // number of the first event since Subscribe
	waiting bool
	due     bool         // direct takes its events with the next Flush
	missed  *MissedError // why the first events are missing
	closed  bool
	paced   bool // pace waits for it
	slow    bool // pace never waits for it again
}

// Subscribe follows the prediction from its first stored event on; without a history, from the next event on. The error
// is ErrTooManySubscribers, memory.ErrFull or ErrNotObserved.
func (p *Prediction) Subscribe() (*Subscription, error) { return p.SubscribeAfter(0) }

// SubscribeAfter is Subscribe for a subscriber that has had that many of the events.
func (p *Prediction) SubscribeAfter(had uint64) (*Subscription, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := p.events.feed
	switch {
	case !p.observed:
		return nil, ErrNotObserved
	case f == nil: // the prediction has ended, and only its record remains
		f = &feed{history: DefaultHistory}
		f.add(Event{Kind: EventEnd}, 0)
	}
	if len(f.subs) >= MaxSubscribers {
		return nil, ErrTooManySubscribers
	}
	if !p.chargeLocked(subscriberCost) {
		return nil, memory.ErrFull
	}
	s := &Subscription{
		p: p, feed: f, wake: make(chan struct{}, 1), resumed: make(chan struct{}, 1),
		joined: f.next, next: min(had, f.next),
	}
	switch {
	case f.history == 0 && f.ended: // the last event carries the whole record
		s.next = f.next - 1
	case f.history == 0: // replay is off
		s.next = f.next
	case f.next-s.next > f.history:
		s.missed = &MissedError{Replay: true, Skipped: f.next - s.next - f.history}
	}
	f.subs = append(f.subs, s)
	return s, nil
}

// Taker takes the events of a subscriber that waits, by Take, on the goroutine that emits outputs. It must not block. If
// it returns false, the subscriber is woken.
type Taker interface{ TakeDirectly() bool }

// Direct has the subscriber woken only for what t does not take. It is called before the first wait.
func (s *Subscription) Direct(t Taker) { s.direct = t }

// Next appends new events to dst, up to its capacity, and waits if there are none. The error is io.EOF after the
// last event, ErrStopped when stop is closed or has a token, and *MissedError when events were dropped: no event
// follows it.
func (s *Subscription) Next(dst []Event, stop <-chan struct{}) ([]Event, error) {
	before := len(dst)
	for {
		dst, err := s.Take(dst)
		if err != nil || len(dst) > before {
			return dst, err
		}
		if err := s.Wait(stop); err != nil {
			return dst, err
		}
	}
}

// Take is Next without the wait: there may be no events.
func (s *Subscription) Take(dst []Event) ([]Event, error) {
	p, before := s.p, len(dst)
	p.mu.Lock()
	defer p.mu.Unlock()
	f := s.feed
	if behind := f.next - max(s.next, s.joined); s.missed == nil && behind > subscriberBuffer {
		s.missed = &MissedError{Skipped: behind - subscriberBuffer}
	}
	if s.missed != nil {
		return dst, s.missed
	}
	dst = f.since(dst, s.next, p.record.Output)
	s.next += uint64(len(dst) - before)
	s.caughtUp()
	ended := f.ended && s.next == f.next
	s.waiting = s.next == f.next && !ended
	if len(dst) == before && ended {
		return dst, io.EOF
	}
	return dst, nil
}

// Wait waits, after a Take without events, until there may be some. The error is ErrStopped, as of Next.
func (s *Subscription) Wait(stop <-chan struct{}) error {
	select {
	case <-s.wake:
		return nil
	case <-stop:
		return ErrStopped
	}
}

// Position returns how many events are before the one that Next returns next.
func (s *Subscription) Position() uint64 {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	return s.next
}

// CatchUp is for a subscriber that wants outputs alone, after a *MissedError: it returns the record, which has those
// that were dropped, and lets Next continue with the events after it.
func (s *Subscription) CatchUp() Record {
	p := s.p
	p.mu.Lock()
	defer p.mu.Unlock()
	s.missed = nil
	s.next = s.feed.next
	if s.feed.ended { // the last event says so
		s.next--
	}
	s.joined = s.next
	s.caughtUp()
	return p.recordNow()
}

// notify wakes a waiting subscriber, or leaves that to the Flush that follows. Called with the lock held.
func (s *Subscription) notify(held bool) {
	switch {
	case !s.waiting:
	case held && s.direct != nil:
		s.due = true
	default:
		s.wakeUp()
	}
}

// wakeUp is called with the lock held.
func (s *Subscription) wakeUp() {
	s.waiting = false
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Flush has subscribers take the outputs that were yielded since the last one. Only one goroutine at a time yields.
func (p *Prediction) Flush() {
	for s := p.nextDue(nil); s != nil; {
		if s.direct.TakeDirectly() {
			s = p.nextDue(nil)
		} else {
			s = p.nextDue(s)
		}
	}
}

// nextDue returns a subscriber that is due, and wakes one that did not take its events.
func (p *Prediction) nextDue(woken *Subscription) *Subscription {
	p.mu.Lock()
	defer p.mu.Unlock()
	if woken != nil {
		woken.wakeUp()
	}
	if f := p.events.feed; f != nil {
		for _, s := range f.subs {
			if s.due {
				s.due = false
				return s
			}
		}
	}
	return nil
}

// Close ends the subscription. A prediction of a stream request is canceled when its last subscription closes before
// its end.
func (s *Subscription) Close() {
	p := s.p
	p.mu.Lock()
	if s.closed {
		p.mu.Unlock()
		return
	}
	s.closed = true
	p.usage.bytes -= subscriberCost
	s.caughtUp()
	s.feed.subs = slices.DeleteFunc(s.feed.subs, func(x *Subscription) bool { return x == s })
	abandoned := len(s.feed.subs) == 0 && p.Request.Mode == Stream && !p.record.Status.Terminal()
	p.mu.Unlock()
	if abandoned {
		p.Cancel()
	}
}
