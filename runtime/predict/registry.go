package predict

import (
	"sync"
	"time"

	"pinion/runtime/memory"
)

// Retention says how long ended predictions are kept, and how many. A zero field takes its default.
type Retention struct {
	TTL   time.Duration // default 10 min; negative: none is kept
	Count int           // default 10 000
	// Anonymous is how many are kept beside of those whose id nobody knew before they ended: few ask for them
	// again. Default 500.
	Anonymous int
	Bytes     int // of all that is kept of them together; default: a quarter of Memory
	// Quiet is after how long without a prediction, and without a look at one, no more than QuietBytes of the newest are
	// kept. Default 30 s.
	Quiet      time.Duration
	QuietBytes int // default 4 MiB
	// OnQuiet is called when that has freed memory; nil: nobody is. It must not block.
	OnQuiet func()
	// Memory is what ended predictions are charged to. Where others need the room the oldest of them are removed.
	Memory *memory.Budget
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
		r.Bytes = int(r.Memory.Quarter())
	}
	if r.Quiet == 0 {
		r.Quiet = 30 * time.Second
	}
	if r.QuietBytes == 0 {
		r.QuietBytes = 4 << 20
	}
	if r.OnQuiet == nil {
		r.OnQuiet = func() {}
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
	active   time.Time     // when a prediction last ended or was looked at
	quiet    *time.Timer   // see becameQuiet; nil: nothing has happened since it was
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
	r := &Registry{keep: keep.withDefaults(), by: make(map[key]*Prediction)}
	r.keep.Memory.SetEvict(r.evict)
	return r
}

// Add enters p, or returns ErrInFlight where its id is taken. An ended prediction of that id is forgotten.
func (r *Registry) Add(p *Prediction) error {
	k := key{p.record.Kind, p.record.ID}
	r.mu.Lock()
	defer r.mu.Unlock()
	if other := r.by[k]; other != nil && !other.finished {
		return ErrInFlight
	}
	p.registry = r
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

// Finish says that p is in flight no more. Where it may still be asked for, its record is kept: of one whose id was known
// before, after its last Release; of others from now on, and that must then hold no memory that Release gives back. bytes is
// how large those are.
func (r *Registry) Finish(p *Prediction, bytes int) {
	now := time.Now()
	fits := p.told
	if !fits {
		more := int64(bytes) - p.charge.Bytes()
		fits = bytes <= r.keep.Bytes && (more <= 0 || p.charge.Grow(more)) // without the lock: it may evict
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leave()
	r.active = now
	if r.keep.TTL < 0 || r.closed || !fits {
		delete(r.by, key{p.record.Kind, p.record.ID})
		return
	}
	p.finished = true
	if !p.told {
		r.shelve(p, 0, bytes, now)
	}
}

// keepReleased keeps p, which has ended and was released for the last time; it is bytes large.
func (r *Registry) keepReleased(p *Prediction, bytes int) {
	now := time.Now()
	k := key{p.record.Kind, p.record.ID}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.by[k] != p || !p.finished: // it is not to be kept, or a new one has its id
	case bytes > r.keep.Bytes || r.closed:
		delete(r.by, k)
	default:
		r.shelve(p, 1, bytes, now)
	}
}

// shelve keeps p for a while. Called with the lock held.
func (r *Registry) shelve(p *Prediction, on, bytes int, now time.Time) {
	p.charge.Hold()
	r.shelves[on].kept = append(r.shelves[on].kept, kept{p, now.Add(r.keep.TTL), bytes})
	r.bytes += bytes
	r.purge(now)
	r.keep.Memory.Changed()
	if r.timer == nil {
		r.timer = time.AfterFunc(r.keep.TTL, r.expire)
	}
	if r.quiet == nil {
		r.quiet = time.AfterFunc(r.keep.Quiet, r.becameQuiet)
	}
}

// expire removes what is too old.
func (r *Registry) expire() {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.purge(now)
	r.timer = nil
	if s := r.oldest(); s != nil && !r.closed {
		r.timer = time.AfterFunc(s.oldest().until.Sub(now), r.expire)
	}
}

// becameQuiet removes all but the newest once nobody has asked for anything for a while.
func (r *Registry) becameQuiet() {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return
	}
	if wait := r.keep.Quiet - time.Since(r.active); wait > 0 || r.inFlight > 0 {
		r.quiet.Reset(max(wait, r.keep.Quiet/4))
		r.mu.Unlock()
		return
	}
	r.quiet = nil
	for s := r.oldest(); s != nil && r.bytes > r.keep.QuietBytes; s = r.oldest() {
		r.forget(s)
	}
	r.mu.Unlock()
	r.keep.OnQuiet()
}

// evict removes the oldest until so many bytes are free, and tells whether it removed any. Where all of them are fewer it
// leaves them alone.
func (r *Registry) evict(bytes int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if int64(r.bytes) < bytes {
		return false
	}
	n := 0
	for s := r.oldest(); s != nil && bytes > 0; s = r.oldest() {
		bytes -= r.forget(s)
		n++
	}
	r.keep.Memory.Evicted(n)
	return n > 0
}

// oldest is the shelf with the prediction that ended first; nil: nothing is kept. Called with the lock held.
func (r *Registry) oldest() (first *shelf) {
	for i := range r.shelves {
		s := &r.shelves[i]
		if k := s.oldest(); k != nil && (first == nil || k.until.Before(first.oldest().until)) {
			first = s
		}
	}
	return first
}

// purge forgets what is too old or too much. Called with the lock held.
func (r *Registry) purge(now time.Time) {
	most := [2]int{r.keep.Anonymous, r.keep.Count}
	for i := range r.shelves {
		s := &r.shelves[i]
		for k := s.oldest(); k != nil && (!k.until.After(now) || s.len() > most[i]); k = s.oldest() {
			r.forget(s)
		}
	}
	for s := r.oldest(); s != nil && r.bytes > r.keep.Bytes; s = r.oldest() {
		r.forget(s)
		r.keep.Memory.Evicted(1)
	}
}

// forget takes the oldest of a shelf out, and returns how many bytes that frees. Called with the lock held.
func (r *Registry) forget(s *shelf) int64 {
	k := s.oldest()
	at := key{k.p.record.Kind, k.p.record.ID}
	if r.by[at] == k.p { // else a new one has its id
		delete(r.by, at)
	}
	r.bytes -= k.bytes
	freed := k.p.charge.Release()
	s.drop()
	return freed
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
	r.active = now
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
	for _, timer := range [...]*time.Timer{r.timer, r.quiet} {
		if timer != nil {
			timer.Stop()
		}
	}
	for s := r.oldest(); s != nil; s = r.oldest() {
		r.forget(s)
	}
}
