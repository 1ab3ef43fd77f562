package predict

import (
	"cmp"
	"sync"
	"time"

	"pinion/runtime/memory"
)

// Retention says how long and how many ended predictions are retained. A zero field takes its default.
type Retention struct {
	TTL   time.Duration // default 10 min; negative means none is retained
	Count int           // default 10 000
	// Anonymous is how many predictions are retained, besides Count, whose id no client knew before they ended. Clients
	// rarely ask for those again. Default 500.
	Anonymous int
	Bytes     int // of all retained predictions; default: a quarter of Memory
	// Quiet is how long the server must be idle (no prediction, no GET of one) before only QuietBytes of the newest are
	// retained. Default 30 s.
	Quiet      time.Duration
	QuietBytes int // default 4 MiB
	// OnQuiet is called when that has freed memory. It must not block.
	OnQuiet func()
	// Memory is the budget for retained predictions. The oldest are evicted when it needs room.
	Memory *memory.Budget
}

func (r Retention) withDefaults() Retention {
	r.TTL = cmp.Or(r.TTL, 10*time.Minute)
	r.Count = cmp.Or(r.Count, 10_000)
	r.Anonymous = cmp.Or(r.Anonymous, 500)
	r.Bytes = cmp.Or(r.Bytes, int(r.Memory.Quarter()))
	r.Quiet = cmp.Or(r.Quiet, 30*time.Second)
	r.QuietBytes = cmp.Or(r.QuietBytes, 4<<20)
	if r.OnQuiet == nil {
		r.OnQuiet = func() {}
	}
	return r
}

// Registry holds the predictions in flight, and those that ended recently, by id.
type Registry struct {
	retention Retention

	mu       sync.Mutex
	by       map[key]*Prediction
	inFlight int
	idle     chan struct{}   // closed when none is in flight; nil if no caller waits
	retained [2]retainedList // ended predictions: anonymous ones, and all others
	bytes    int             // of both lists
	timer    *time.Timer     // expires old predictions; nil if none is retained
	active   time.Time       // when a prediction last ended or was read
	quiet    *time.Timer     // see becameQuiet; nil if idle since its last run
	closed   bool
}

type key struct {
	kind Kind
	id   string
}

// retainedList is a queue of ended predictions, the oldest first.
type retainedList struct {
	entries []retained
	head    int
}

// retained is an ended prediction. key is a copy of the prediction's, so that forget does not wait for a cold cache
// line.
type retained struct {
	p     *Prediction
	key   key
	until time.Time
	bytes int
}

func (l *retainedList) len() int { return len(l.entries) - l.head }

func (l *retainedList) oldest() *retained {
	if l.len() == 0 {
		return nil
	}
	return &l.entries[l.head]
}

func (l *retainedList) drop() {
	l.entries[l.head] = retained{}
	l.head++
	if l.head > 64 && l.head > len(l.entries)/2 {
		n := copy(l.entries, l.entries[l.head:])
		clear(l.entries[n:])
		l.entries, l.head = l.entries[:n], 0
	}
}

func NewRegistry(retention Retention) *Registry {
	r := &Registry{retention: retention.withDefaults(), by: make(map[key]*Prediction)}
	r.retention.Memory.SetEvict(r.evict)
	return r
}

// Add adds p, or returns ErrInFlight if its id is in flight. It replaces an ended prediction of that id.
func (r *Registry) Add(p *Prediction) error {
	k := key{p.Request.Kind, p.id}
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

func (r *Registry) Remove(p *Prediction) {
	k := key{p.Request.Kind, p.id}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.by[k] == p && !p.finished {
		delete(r.by, k)
		r.leave()
	}
}

// leave counts one less in flight. Called with the lock held.
func (r *Registry) leave() {
	if r.inFlight--; r.inFlight == 0 && r.idle != nil {
		close(r.idle)
		r.idle = nil
	}
}

// Idle returns a channel that is closed once none is in flight.
func (r *Registry) Idle() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.inFlight == 0 {
		idle := make(chan struct{})
		close(idle)
		return idle
	}
	if r.idle == nil {
		r.idle = make(chan struct{})
	}
	return r.idle
}

// Finish removes p from those in flight and retains it for later requests. An observed prediction is retained after its
// last Release. Any other is retained from now on, so Release must not free its bytes.
func (r *Registry) Finish(p *Prediction, bytes int, now time.Time) {
	fits := p.observed
	if !fits {
		more := int64(bytes) - p.charge.Bytes()
		fits = bytes <= r.retention.Bytes && (more <= 0 || p.charge.Grow(more)) // without the lock, because it may evict
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leave()
	r.active = now
	if r.retention.TTL < 0 || r.closed || !fits {
		delete(r.by, key{p.Request.Kind, p.id})
		return
	}
	p.finished = true
	if !p.observed {
		r.retain(p, 0, bytes, now)
	}
}

// retainReleased retains p after its end and its last Release; bytes is its size.
func (r *Registry) retainReleased(p *Prediction, bytes int) {
	now := time.Now()
	k := key{p.Request.Kind, p.id}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.by[k] != p || !p.finished: // not to be retained, or a new one has its id
	case bytes > r.retention.Bytes || r.closed:
		delete(r.by, k)
	default:
		r.retain(p, 1, bytes, now)
	}
}

// retain adds p to a list. Called with the lock held.
func (r *Registry) retain(p *Prediction, list, bytes int, now time.Time) {
	p.charge.Hold()
	l := &r.retained[list]
	l.entries = append(l.entries, retained{p, key{p.Request.Kind, p.id}, now.Add(r.retention.TTL), bytes})
	r.bytes += bytes
	r.purge(now)
	r.retention.Memory.Changed()
	if r.timer == nil {
		r.timer = time.AfterFunc(r.retention.TTL, r.expire)
	}
	if r.quiet == nil {
		r.quiet = time.AfterFunc(r.retention.Quiet, r.becameQuiet)
	}
}

// expire removes the predictions whose TTL is over.
func (r *Registry) expire() {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.purge(now)
	r.timer = nil
	if l := r.oldest(); l != nil && !r.closed {
		r.timer = time.AfterFunc(l.oldest().until.Sub(now), r.expire)
	}
}

// becameQuiet removes all but the newest once the server was idle for Retention.Quiet.
func (r *Registry) becameQuiet() {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return
	}
	if wait := r.retention.Quiet - time.Since(r.active); wait > 0 || r.inFlight > 0 {
		r.quiet.Reset(max(wait, r.retention.Quiet/4))
		r.mu.Unlock()
		return
	}
	r.quiet = nil
	for l := r.oldest(); l != nil && r.bytes > r.retention.QuietBytes; l = r.oldest() {
		r.forget(l)
	}
	r.mu.Unlock()
	r.retention.OnQuiet()
}

// evict removes the oldest until that many bytes are free, and reports whether it removed any. If all of them together
// are smaller, it removes none.
func (r *Registry) evict(bytes int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if int64(r.bytes) < bytes {
		return false
	}
	n := 0
	for l := r.oldest(); l != nil && bytes > 0; l = r.oldest() {
		bytes -= r.forget(l)
		n++
	}
	r.retention.Memory.Evicted(n)
	return n > 0
}

// oldest returns the list with the prediction that ended first, or nil if none is retained. Called with the lock held.
func (r *Registry) oldest() (first *retainedList) {
	for i := range r.retained {
		l := &r.retained[i]
		if e := l.oldest(); e != nil && (first == nil || e.until.Before(first.oldest().until)) {
			first = l
		}
	}
	return first
}

// purge removes predictions that are too old or too many. Called with the lock held.
func (r *Registry) purge(now time.Time) {
	most := [2]int{r.retention.Anonymous, r.retention.Count}
	for i := range r.retained {
		l := &r.retained[i]
		for e := l.oldest(); e != nil && (!e.until.After(now) || l.len() > most[i]); e = l.oldest() {
			r.forget(l)
		}
	}
	for l := r.oldest(); l != nil && r.bytes > r.retention.Bytes; l = r.oldest() {
		r.forget(l)
		r.retention.Memory.Evicted(1)
	}
}

// forget removes the oldest of a list, and returns how many bytes that frees. Called with the lock held.
func (r *Registry) forget(l *retainedList) int64 {
	e := l.oldest()
	if r.by[e.key] == e.p { // otherwise a new one has its id
		delete(r.by, e.key)
	}
	r.bytes -= e.bytes
	freed := e.p.charge.Release()
	l.drop()
	return freed
}

// Get returns the prediction in flight with that id, or nil.
func (r *Registry) Get(kind Kind, id string) *Prediction {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.by[key{kind, id}]; p != nil && !p.finished {
		return p
	}
	return nil
}

// Find returns the prediction with that id, in flight or retained, or nil.
func (r *Registry) Find(kind Kind, id string) *Prediction {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.active = now
	r.purge(now)
	return r.by[key{kind, id}]
}

func (r *Registry) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.inFlight
}

func (r *Registry) All() []*Prediction {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]*Prediction, 0, r.inFlight)
	for _, p := range r.by {
		if !p.finished {
			list = append(list, p)
		}
	}
	return list
}

// Close drops the retained predictions. None is retained afterwards.
func (r *Registry) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for _, timer := range [...]*time.Timer{r.timer, r.quiet} {
		if timer != nil {
			timer.Stop()
		}
	}
	for l := r.oldest(); l != nil; l = r.oldest() {
		r.forget(l)
	}
}
