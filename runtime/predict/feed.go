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

// eventCost is about how many bytes the ring needs for an event, beside its data.
const eventCost = 128

// feed is the last events of one prediction and who follows them. Guarded by the prediction's lock.
type feed struct {
	history uint64   // how many events a late subscriber may have
	ring    []stored // the last events; event n lies at n modulo its capacity, once it is full
	next    uint64   // number of the next event
	ended   bool
	subs    []*Subscription
}

// size is how many events the ring holds at most: what somebody who joins may have, and may then be behind.
func (f *feed) size() uint64 { return f.history + subscriberBuffer }

// stored is an event in the ring. The data of an output is not kept here but stands in the record, up to end: as the record
// grows its memory moves, and each event would keep a copy of all that was there before.
type stored struct {
	Event
	end, size int
}

// add takes an event in, and returns by how many bytes that makes the feed larger. end is where the data of an output ends in
// the record's output. The data of other events was charged before.
func (f *feed) add(e Event, end int) (grown int) {
	kept := stored{Event: e}
	if e.Kind == EventOutput {
		kept.Data, kept.end, kept.size = nil, end, len(e.Data)
	}
	if n := f.size(); uint64(len(f.ring)) < n {
		f.ring = append(f.ring, kept)
		grown = eventCost
	} else {
		grown = -len(f.ring[f.next%n].Data)
		f.ring[f.next%n] = kept
	}
	f.next++
	f.ended = e.Kind == EventEnd
	for _, s := range f.subs {
		s.poke()
	}
	return grown
}

// since appends the events from number n on to dst, as many as fit. They must still be there. output is the record's.
func (f *feed) since(dst []Event, n uint64, output []byte) []Event {
	for ; n < f.next && len(dst) < cap(dst); n++ {
		kept := &f.ring[n%f.size()]
		dst = append(dst, kept.Event)
		if kept.Kind == EventOutput {
			dst[len(dst)-1].Data = output[kept.end-kept.size : kept.end : kept.end]
		}
	}
	return dst
}

func (f *feed) leave(s *Subscription) {
	if i := slices.Index(f.subs, s); i >= 0 {
		f.subs = slices.Delete(f.subs, i, i+1)
	}
}
