package connlimit

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// evictShare is the part of the limit that is closed at once, so that one search of the idle connections serves many
	// new ones.
	evictShare = 32
	// evictTries is how often room is made for one connection: another listener may take it first.
	evictTries = 8
	// searchPause is how long no search follows one that found nothing idle.
	searchPause = 100 * time.Millisecond
	// partExtra is how many connections more than the whole limit a Part may make.
	partExtra = 64
)

// Conn is a connection that may be idle.
type Conn interface {
	// CloseIdle closes the connection and leaves its Place, unless a whole request is in flight.
	CloseIdle()
}

// Idle is a connection without a whole request in flight when its source was asked.
type Idle struct {
	// Receiving: its client has sent a part of a request. Such connections are closed only when no other is idle.
	Receiving bool
	// Since is when it became idle. Of one that receives, it is earlier the less its client has sent.
	Since time.Time
	Conn  Conn
}

// Source returns the idle connections of a server.
type Source func() []Idle

// Limit bounds the connections that are open at once. Make it with New or Part.
type Limit struct {
	most   int
	parent *Limit // nil: it is no part

	mu       sync.Mutex
	open     int
	sources  []Source
	searched time.Time // when the last search found nothing

	evicted, refused atomic.Uint64
}

// New returns a limit of so many connections.
func New(most int) *Limit { return &Limit{most: most} }

// Part returns a limit for one listener, within l.
func (l *Limit) Part(most int) *Limit { return &Limit{most: most, parent: l} }

// Add adds a source of idle connections.
func (l *Limit) Add(s Source) {
	for ; l != nil; l = l.parent {
		l.mu.Lock()
		l.sources = append(l.sources, s)
		l.mu.Unlock()
	}
}

// Place is what an open connection has of a Limit. The zero Place is empty.
type Place struct {
	limit *Limit
	left  atomic.Bool
}

// Enter counts a connection in p; false: the limit is reached, and no connection is idle.
func (l *Limit) Enter(p *Place) bool {
	if !l.take(0) {
		return false
	}
	if l.parent != nil && !l.parent.take(partExtra) {
		l.give()
		return false
	}
	p.limit = l
	return true
}

// Leave gives the place back. Only the first call has an effect.
func (p *Place) Leave() {
	if p.limit == nil || p.left.Swap(true) {
		return
	}
	for l := p.limit; l != nil; l = l.parent {
		l.give()
	}
}

func (l *Limit) give() {
	l.mu.Lock()
	l.open--
	l.mu.Unlock()
}

// take counts a connection, up to extra above the limit.
func (l *Limit) take(extra int) bool {
	if l.count(extra) {
		return true
	}
	for range evictTries {
		if !l.evict() {
			break
		}
		if l.count(extra) {
			return true
		}
	}
	l.refused.Add(1)
	return false
}

func (l *Limit) count(extra int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open >= l.most+extra {
		return false
	}
	l.open++
	return true
}

// evict closes the connections that have been idle for longest; false: there are none.
func (l *Limit) evict() bool {
	l.mu.Lock()
	sources := l.sources
	recent := time.Since(l.searched) < searchPause
	most := max(l.most/evictShare, l.open-l.most+1) // parts may have gone above the limit
	l.mu.Unlock()
	if recent {
		return false
	}
	var idle []Idle
	for _, source := range sources {
		idle = append(idle, source()...)
	}
	if len(idle) == 0 {
		l.mu.Lock()
		l.searched = time.Now()
		l.mu.Unlock()
		return false
	}
	if i := slices.IndexFunc(idle, func(i Idle) bool { return !i.Receiving }); i >= 0 {
		idle = slices.DeleteFunc(idle, func(i Idle) bool { return i.Receiving })
	}
	slices.SortFunc(idle, func(a, b Idle) int { return a.Since.Compare(b.Since) })
	idle = idle[:min(len(idle), most)]
	for _, one := range idle {
		one.Conn.CloseIdle()
	}
	l.evicted.Add(uint64(len(idle)))
	return true
}

// Stats is the state of a Limit.
type Stats struct {
	Open, Limit int
	Evicted     uint64 // connections that were closed to make room
	Refused     uint64 // connections for which there was no room
}

// Stats returns the limit's state; nil: the zero Stats.
func (l *Limit) Stats() Stats {
	if l == nil {
		return Stats{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return Stats{Open: l.open, Limit: l.most, Evicted: l.evicted.Load(), Refused: l.refused.Load()}
}
