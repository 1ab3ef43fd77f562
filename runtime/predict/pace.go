package predict

import "time"

// A model can yield faster than the goroutine that writes to a client gets its turn, and the client is then
// not to blame. So whoever tells of an item that leaves a subscriber more than half of its buffer behind waits for it,
// a little: meanwhile items gather in the worker's socket and in the worker, and the model goes on. A client that
// does not take half a buffer within paceLimit is slow; it is not waited for again, and misses what its buffer
// cannot hold.
const (
	paceAbove = subscriberBuffer / 2
	paceLimit = 50 * time.Millisecond
)

// crowded lists the subscribers that are worth waiting for. Called with the lock held.
func (f *feed) crowded(dst []*Subscription) []*Subscription {
	for _, s := range f.subs {
		if !s.slow && s.missed == nil && f.next-max(s.next, s.joined) > paceAbove {
			s.paced = true
			dst = append(dst, s)
		}
	}
	return dst
}

// pace waits until these have caught up, or are slow.
func (p *Prediction) pace(crowd []*Subscription) {
	limit := time.NewTimer(paceLimit)
	defer limit.Stop()
	late := false
	for _, s := range crowd {
		if !late {
			select {
			case <-s.taken:
				continue
			case <-limit.C:
				late = true
			}
		}
		p.mu.Lock()
		if s.paced { // it has not come back
			s.paced, s.slow = false, true
		}
		p.mu.Unlock()
	}
}

// caughtUp lets pace go on. Called with the lock held.
func (s *Subscription) caughtUp() {
	if s.paced && (s.closed || s.feed.next-max(s.next, s.joined) <= paceAbove) {
		s.paced = false
		select {
		case s.taken <- struct{}{}:
		default:
		}
	}
}
