package predict

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"pinion/runtime/memory"
)

// Retention says how long and how many ended predictions are retained. A zero field takes its default.
type Retention struct {
	TTL time.Duration // default 10 min; negative means none is retained
	// Shared has the bounds below for all registries of a server together; nil means this one has its own.
	Shared *Retained
	Count  int // default 10 000
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

// Retained is the ended predictions that a server retains, of all its registries. It bounds them together, because
// clients share the server's memory.
type Retained struct {
	retention Retention

	mu         sync.Mutex  // of its registries too
	registries []*Registry // that are not closed
	inFlight   int
	counts     [2]int      // of the lists of all registries
	bytes      int         // of the lists of all registries
	active     time.Time   // when a prediction last ended or was read
	quiet      *time.Timer // see becameQuiet; nil if idle since its last run
}

// NewRetained returns what the registries of a server share.
func NewRetained(retention Retention) *Retained {
	a := &Retained{retention: retention.withDefaults()}
	a.retention.Memory.SetEvict(a.evict)
	return a
}

// Registry holds the predictions in flight of a model, and those that ended recently, by id.
type Registry struct {
	ttl time.Duration
	all *Retained

	mu       *sync.Mutex // all.mu
	by       map[key]*Prediction
	inFlight int
	idle     chan struct{}   // closed when none is in flight; nil if no caller waits
	retained [2]retainedList // ended predictions: anonymous ones, and all others
	timer    *time.Timer     // expires old predictions; nil if none is retained
	closed   bool
}

type key struct {
	kind Kind
	id   string
}

func (p *Prediction) key() key { return key{p.Request.Kind, FunctionID(p.Request.Function, p.id)} }

// retainedList is a queue of ended predictions, the oldest first.
type retainedList struct {
	of      *Registry
	entries []retained
	head    int
}

// retained is an ended prediction. key is a copy of the prediction's, so that forget does not wait for a cold cache
// line.
type retained struct {
	p     *Prediction
	key   key
	ended time.Time
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
	all := retention.Shared
	if all == nil {
		all = NewRetained(retention)
	}
	r := &Registry{ttl: retention.withDefaults().TTL, all: all, mu: &all.mu, by: make(map[key]*Prediction)}
	for i := range r.retained {
		r.retained[i].of = r
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	all.registries = append(all.registries, r)
	return r
}

// Add adds p, or returns ErrInFlight if its id is in flight. It replaces an ended prediction of that id.
func (r *Registry) Add(p *Prediction) error {
	k := p.key()
	r.mu.Lock()
	defer r.mu.Unlock()
	if other := r.by[k]; other != nil && !other.finished {
		return ErrInFlight
	}
	p.registry = r
	r.by[k] = p
	r.inFlight++
	r.all.inFlight++
	return nil
}

func (r *Registry) Remove(p *Prediction) {
	k := p.key()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.by[k] == p && !p.finished {
		delete(r.by, k)
		r.leave()
	}
}

// leave counts one less in flight. Called with the lock held.
func (r *Registry) leave() {
	r.all.inFlight--
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
	if !fits && p.Request.Copy == nil {
		more := int64(bytes) - p.charge.Bytes()
		fits = bytes <= r.all.retention.Bytes && (more <= 0 || p.charge.Grow(more)) // without the lock, because it may evict
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leave()
	r.all.active = now
	if r.ttl < 0 || r.closed || !fits {
		delete(r.by, p.key())
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
	k := p.key()
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.by[k] != p || !p.finished: // not to be retained, or a new one has its id
	case bytes > r.all.retention.Bytes || r.closed || p.Request.Copy != nil:
		delete(r.by, k)
	default:
		r.retain(p, 1, bytes, now)
	}
}

// retain adds p to a list. Called with the lock held.
func (r *Registry) retain(p *Prediction, list, bytes int, now time.Time) {
	p.charge.Hold()
	l, all := &r.retained[list], r.all
	l.entries = append(l.entries, retained{p, p.key(), now, bytes})
	all.bytes += bytes
	all.counts[list]++
	r.expireBefore(now)
	all.trim()
	all.retention.Memory.Changed()
	if r.timer == nil {
		r.timer = time.AfterFunc(r.ttl, r.expire)
	}
	if all.quiet == nil {
		all.quiet = time.AfterFunc(all.retention.Quiet, all.becameQuiet)
	}
}

// expire removes the predictions whose TTL is over.
func (r *Registry) expire() {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.expireBefore(now)
	r.timer = nil
	if l := r.oldest(); l != nil && !r.closed {
		r.timer = time.AfterFunc(l.oldest().ended.Add(r.ttl).Sub(now), r.expire)
	}
}

// expireBefore removes the predictions whose TTL is over at that time. Called with the lock held.
func (r *Registry) expireBefore(now time.Time) {
	for i := range r.retained {
		l := &r.retained[i]
		for e := l.oldest(); e != nil && !e.ended.Add(r.ttl).After(now); e = l.oldest() {
			l.forget()
		}
	}
}

// becameQuiet removes all but the newest once the server was idle for Retention.Quiet.
func (a *Retained) becameQuiet() {
	a.mu.Lock()
	if len(a.registries) == 0 {
		a.mu.Unlock()
		return
	}
	if wait := a.retention.Quiet - time.Since(a.active); wait > 0 || a.inFlight > 0 {
		a.quiet.Reset(max(wait, a.retention.Quiet/4))
		a.mu.Unlock()
		return
	}
	a.quiet = nil
	for l := a.oldest(); l != nil && a.bytes > a.retention.QuietBytes; l = a.oldest() {
		l.forget()
	}
	a.mu.Unlock()
	a.retention.OnQuiet()
}

// evict removes the oldest until that many bytes are free, and reports whether it removed any. If all of them together
// are smaller, it removes none.
func (a *Retained) evict(bytes int64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if int64(a.bytes) < bytes {
		return false
	}
	n := 0
	for l := a.oldest(); l != nil && bytes > 0; l = a.oldest() {
		bytes -= l.forget()
		n++
	}
	a.retention.Memory.Evicted(n)
	return n > 0
}

// trim removes the oldest that are too many. Called with the lock held.
func (a *Retained) trim() {
	for i, most := range [...]int{a.retention.Anonymous, a.retention.Count} {
		for a.counts[i] > most {
			var first *retainedList
			for _, r := range a.registries {
				first = earlier(first, &r.retained[i])
			}
			first.forget()
		}
	}
	for l := a.oldest(); l != nil && a.bytes > a.retention.Bytes; l = a.oldest() {
		l.forget()
		a.retention.Memory.Evicted(1)
	}
}

// oldest returns the list with the prediction that ended first, or nil if none is retained. Called with the lock held.
func (a *Retained) oldest() (first *retainedList) {
	for _, r := range a.registries {
		first = earlier(first, r.oldest())
	}
	return first
}

// oldest does the same for one registry.
func (r *Registry) oldest() *retainedList {
	return earlier(earlier(nil, &r.retained[0]), &r.retained[1])
}

// earlier returns the list whose oldest prediction ended first. One that is nil or empty is not returned.
func earlier(first, other *retainedList) *retainedList {
	if other == nil || other.len() == 0 || first != nil && !other.oldest().ended.Before(first.oldest().ended) {
		return first
	}
	return other
}

// forget removes the oldest of a list, and returns how many bytes that frees. Called with the lock held.
func (l *retainedList) forget() int64 {
	e, r := l.oldest(), l.of
	if r.by[e.key] == e.p { // otherwise a new one has its id
		delete(r.by, e.key)
	}
	r.all.bytes -= e.bytes
	if l == &r.retained[0] {
		r.all.counts[0]--
	} else {
		r.all.counts[1]--
	}
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
	r.all.active = now
	r.expireBefore(now)
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
	for l := r.oldest(); l != nil; l = r.oldest() {
		l.forget()
	}
	r.all.registries = slices.DeleteFunc(r.all.registries, func(other *Registry) bool { return other == r })
	if r.timer != nil {
		r.timer.Stop()
	}
	if r.all.quiet != nil && len(r.all.registries) == 0 {
		r.all.quiet.Stop()
		r.all.quiet = nil
	}
}
