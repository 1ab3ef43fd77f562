package predict

const (
	// DefaultHistory is how many of its last events a prediction stores for late subscribers.
	DefaultHistory = 1024
	// subscriberBuffer is how many events a subscriber may lag behind, of those since it subscribed.
	subscriberBuffer = 1024
	// MaxSubscribers is how many subscribers one prediction may have at a time.
	MaxSubscribers = 1024
)

// eventCost is about how many bytes the ring needs for an event besides its data.
const eventCost = 128

// feed holds the last events of one prediction, and its subscribers. Guarded by the prediction's lock.
type feed struct {
	history uint64   // how many past events a late subscriber receives
	ring    []stored // the last events; event n is at index n % size() once the ring is full
	next    uint64   // number of the next event
	ended   bool
	held    bool // the event that is added is followed by a Flush
	subs    []*Subscription
}

// size returns the ring's capacity: the history of a late subscriber, and its buffer.
func (f *feed) size() uint64 { return f.history + subscriberBuffer }

// stored is an event in the ring. An output's data stays in the record, where it ends at end: the record's memory moves
// as it grows, and a slice here would keep an old copy of the whole output alive.
type stored struct {
	Event
	end, size int
}

// add stores an event, and returns by how many bytes the feed grew. end is where an output's data ends in the record.
// The data of other events is already charged.
func (f *feed) add(e Event, end int) (grown int) {
	entry := stored{Event: e}
	if e.Kind == EventOutput {
		entry.Data, entry.end, entry.size = nil, end, len(e.Data)
	}
	if n := f.size(); uint64(len(f.ring)) < n {
		f.ring = append(f.ring, entry)
		grown = eventCost
	} else {
		grown = -len(f.ring[f.next%n].Data)
		f.ring[f.next%n] = entry
	}
	f.next++
	f.ended = e.Kind == EventEnd
	for _, s := range f.subs {
		s.notify(f.held)
	}
	return grown
}

// since appends events to dst from number n on, as many as fit. They must still be stored. output is the record's.
func (f *feed) since(dst []Event, n uint64, output []byte) []Event {
	for ; n < f.next && len(dst) < cap(dst); n++ {
		e := &f.ring[n%f.size()]
		dst = append(dst, e.Event)
		if e.Kind == EventOutput {
			dst[len(dst)-1].Data = output[e.end-e.size : e.end : e.end]
		}
	}
	return dst
}
