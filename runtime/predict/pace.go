package predict

import "time"

// A model can yield faster than the scheduler runs the goroutine of a client that is fast enough. So Pace
// waits briefly for a subscriber that lags by more than half of its buffer. Meanwhile items gather in the socket and
// the worker, and the model continues. A client that does not catch up within paceLimit is slow: Output never waits for
// it again, and it misses what its buffer cannot hold.
const (
	paceAbove = subscriberBuffer / 2
	paceLimit = 50 * time.Millisecond
)

// Lagging are the subscribers for which Pace waits.
type Lagging []*Subscription

// laggingSubscribers appends the subscribers to wait for. Called with the lock held.
func (f *feed) laggingSubscribers(dst Lagging) Lagging {
	for _, s := range f.subs {
		if !s.slow && s.missed == nil && f.next-max(s.next, s.joined) > paceAbove {
			s.paced = true
			dst = append(dst, s)
		}
	}
	return dst
}

// Pace waits until the lagging subscribers have caught up, and marks those that have not as slow.
func (p *Prediction) Pace(lagging Lagging) {
	if lagging == nil {
		return
	}
	limit := time.NewTimer(paceLimit)
	defer limit.Stop()
	late := false
	for _, s := range lagging {
		if !late {
			select {
			case <-s.resumed:
				continue
			case <-limit.C:
				late = true
			}
		}
		p.mu.Lock()
		if s.paced { // it has not caught up
			s.paced, s.slow = false, true
		}
		p.mu.Unlock()
	}
}

// caughtUp lets pace continue if s does not lag any more. Called with the lock held.
func (s *Subscription) caughtUp() {
	if s.paced && (s.closed || s.feed.next-max(s.next, s.joined) <= paceAbove) {
		s.paced = false
		select {
		case s.resumed <- struct{}{}:
		default:
		}
	}
}
