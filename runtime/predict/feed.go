package predict

import "slices"

const (
	// DefaultHistory is how many of its last events a prediction keeps for those who join it late.
	DefaultHistory = 1024
	// subscriberBuffer is how many of the events since it came a subscriber may be behind.
	subscriberBuffer = 1024
	// MaxSubscribers is how many may follow one prediction at the same time.
	MaxSubscribers = 1024
)

// feed is the last events of one prediction and who follows them. Guarded by the prediction's lock.
type feed struct {
	history uint64  // how many events a late subscriber may have
	ring    []Event // the last events; event n lies at n modulo its capacity, once it is full
	next    uint64  // number of the next event
	ended   bool
	subs    []*Subscription
}

// size is how many events the ring holds at most: what somebody who joins may have, and may then be behind.
func (f *feed) size() uint64 { return f.history + subscriberBuffer }

func (f *feed) add(e Event) {
	if n := f.size(); uint64(len(f.ring)) < n {
		f.ring = append(f.ring, e)
	} else {
		f.ring[f.next%n] = e
	}
	f.next++
	f.ended = e.Kind == EventEnd
	for _, s := range f.subs {
		s.poke()
	}
}

// since appends the events from number n on to dst, as many as fit. They must still be there.
func (f *feed) since(dst []Event, n uint64) []Event {
	for ; n < f.next && len(dst) < cap(dst); n++ {
		dst = append(dst, f.ring[n%f.size()])
	}
	return dst
}

func (f *feed) leave(s *Subscription) {
	if i := slices.Index(f.subs, s); i >= 0 {
		f.subs = slices.Delete(f.subs, i, i+1)
	}
}
