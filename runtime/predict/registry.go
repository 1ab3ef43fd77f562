package predict

import (
	"sync"
	"time"
)

// Retention says how long ended predictions are kept, and how many. A zero field takes its default.
type Retention struct {
	TTL   time.Duration // default 10 min; negative: none is kept
	Count int           // default 10 000
	// Anonymous is how many are kept beside of those whose id nobody knew before they ended: few ask for them
	// again. Default 500.
	Anonymous int
	Bytes     int // of their inputs, outputs and logs together; default 256 MiB
}

func (r Retention) withDefaults() Retention {
	if r.TTL == 0 {
		r.TTL = 10 * time.Minute
	}
	if r.Count == 0 {
		r.Count = 10_000
	}
	if r.Anonymous == 0 {
		r.Anonymous = 500
	}
	if r.Bytes == 0 {
		r.Bytes = 256 << 20
	}
	return r
}

// Registry holds the predictions in flight, and for a while those that have ended, by id.
type Registry struct {
	keep Retention

	mu       sync.Mutex
	by       map[key]*Prediction
	inFlight int
	idle     chan struct{} // closed when none is in flight; nil: nobody waits for that
	shelves  [2]shelf      // of the ended: anonymous ones, and all others
	bytes    int           // on both
	timer    *time.Timer   // removes what is too old; nil while nothing is kept
	closed   bool
}

type key struct {
	kind Kind
	id   string
}

// shelf holds ended predictions, the oldest first, from head on.
type shelf struct {
	kept []kept
	head int
}

type kept struct {
	p     *Prediction
	until time.Time
	bytes int
}

func (s *shelf) len() int { return len(s.kept) - s.head }

// oldest is the first on the shelf, or nil.
func (s *shelf) oldest() *kept {
	if s.len() == 0 {
		return nil
	}
	return &s.kept[s.head]
}

// drop takes the oldest off the shelf.
func (s *shelf) drop() {
	s.kept[s.head] = kept{}
	s.head++
	if s.head > 64 && s.head > len(s.kept)/2 {
		n := copy(s.kept, s.kept[s.head:])
		clear(s.kept[n:])
		s.kept, s.head = s.kept[:n], 0
	}
}

// NewRegistry makes an empty registry.
func NewRegistry(keep Retention) *Registry {
	return &Registry{keep: keep.withDefaults(), by: make(map[key]*Prediction)}
}

// Add enters p, or returns ErrInFlight where its id is taken. An ended prediction of that id is forgotten.
func (r *Registry) Add(p *Prediction) error {
	k := key{p.record.Kind, p.record.ID}
	r.mu.Lock()
	defer r.mu.Unlock()
	if other := r.by[k]; other != nil && !other.finished {
		return ErrInFlight
	}
	r.by[k] = p
	r.inFlight++
	return nil
}

// Remove takes p, which is in flight, out.
func (r *Registry) Remove(p *Prediction) {
	k := key{p.record.Kind, p.record.ID}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.by[k] == p && !p.finished {
		delete(r.by, k)
		r.leave()
	}
}

// leave counts one out. Called with the lock held.
func (r *Registry) leave() {
	r.inFlight--
	if r.inFlight == 0 && r.idle != nil {
		close(r.idle)
		r.idle = nil
	}
}

// Idle is closed once none is in flight.
func (r *Registry) Idle() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	idle := make(chan struct{})
	switch {
	case r.inFlight == 0:
		close(idle)
	case r.idle != nil:
		return r.idle
	default:
		r.idle = idle
	}
	return idle
}

// Finish says that p is in flight no more. Where it may still be asked for, its record is kept; that
// must then hold no memory that Release gives back.
func (r *Registry) Finish(p *Prediction, bytes int) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leave()
	if bytes > r.keep.Bytes || r.keep.TTL < 0 || r.closed {
		delete(r.by, key{p.record.Kind, p.record.ID})
		return
	}
	p.finished = true
	on := 0
	if p.told {
		on = 1
	}
	r.shelves[on].kept = append(r.shelves[on].kept, kept{p, now.Add(r.keep.TTL), bytes})
	r.bytes += bytes
	r.purge(now)
	if r.timer == nil {
		r.timer = time.AfterFunc(r.keep.TTL, r.expire)
	}
}

// expire removes what is too old.
func (r *Registry) expire() {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.purge(now)
	r.timer = nil
	var next time.Time
	for i := range r.shelves {
		if k := r.shelves[i].oldest(); k != nil && (next.IsZero() || k.until.Before(next)) {
			next = k.until
		}
	}
	if !next.IsZero() && !r.closed {
		r.timer = time.AfterFunc(next.Sub(now), r.expire)
	}
}

// purge forgets what is too old or too much. Called with the lock held.
func (r *Registry) purge(now time.Time) {
	most := [2]int{r.keep.Anonymous, r.keep.Count}
	for i := range r.shelves {
		s := &r.shelves[i]
		for k := s.oldest(); k != nil; k = s.oldest() {
			if k.until.After(now) && s.len() <= most[i] && r.bytes <= r.keep.Bytes {
				break
			}
			r.forget(k)
			s.drop()
		}
	}
}

// forget takes an ended prediction out. Called with the lock held.
func (r *Registry) forget(k *kept) {
	at := key{k.p.record.Kind, k.p.record.ID}
	if r.by[at] == k.p { // else a new one has its id
		delete(r.by, at)
	}
	r.bytes -= k.bytes
}

// Get finds the prediction in flight of that id, or nil.
func (r *Registry) Get(kind Kind, id string) *Prediction {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.by[key{kind, id}]; p != nil && !p.finished {
		return p
	}
	return nil
}

// Find finds the prediction of that id, in flight or kept, or nil.
func (r *Registry) Find(kind Kind, id string) *Prediction {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.purge(now)
	return r.by[key{kind, id}]
}

// Len is how many are in flight.
func (r *Registry) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.inFlight
}

// All is a snapshot of those in flight.
func (r *Registry) All() []*Prediction {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]*Prediction, 0, r.inFlight)
	for _, p := range r.by {
		if !p.finished {
			all = append(all, p)
		}
	}
	return all
}

// Close forgets what is kept, and keeps no more.
func (r *Registry) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	if r.timer != nil {
		r.timer.Stop()
	}
	for i := range r.shelves {
		s := &r.shelves[i]
		for k := s.oldest(); k != nil; k = s.oldest() {
			r.forget(k)
			s.drop()
		}
	}
}
