package connlimit

import (
	"net"
	"net/netip"
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
	// searches is how many searches in a row must close nothing before evict gives up, and searchWait the time between
	// them: a busy server may just be reading all requests. If no connection is idle, evict gives up after two.
	searches   = 3
	searchWait = 30 * time.Millisecond
	// searchPause is how long evict does not search again after it gave up.
	searchPause = 100 * time.Millisecond
	// closingShare is the part of the limit that may be closing beside those that are open, from minClosing to maxClosing.
	// Beyond it Enter waits until one is closed, at most closingWait.
	closingShare = 8
	maxClosing   = 256
	minClosing   = 8
	closingWait  = time.Second
	// partExtra is how many connections more than the whole limit a Part may make.
	partExtra = 64
)

// Conn is a connection that may be idle.
type Conn interface {
	// CloseIdle closes the connection and leaves its Place, unless it is in use by now. It returns whether it did: not
	// if the connection was closed already. If another goroutine is to close it, CloseIdle calls Place.Closing instead.
	CloseIdle() bool
}

// Idle is a connection that had no whole request in flight when its source was asked, or whose client did not read.
type Idle struct {
	// Receiving means that its client has sent a part of a request. Such connections are closed only when no other is
	// idle.
	Receiving bool
	// Blocked means that its client has not read what the server writes, since Since. Such connections are closed after
	// those that receive.
	Blocked bool
	// Since is when it became idle. For a connection that receives, it is earlier the less its client has sent.
	Since time.Time
	Peer  netip.Prefix // PeerOf its address
	Conn  Conn
}

// PeerOf returns the network that a client's address stands for: the address, or the /64 of IPv6, which one client may
// have to itself. It is zero for other addresses.
func PeerOf(a net.Addr) netip.Prefix {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.Prefix{}
	}
	addr := tcp.AddrPort().Addr().Unmap().WithZone("")
	peer, _ := addr.Prefix(min(64, addr.BitLen())) // zero for an invalid address
	return peer
}

// Source returns the idle connections of a server.
type Source func() []Idle

// Limit bounds the connections that are open at once. Make it with New or Part.
type Limit struct {
	most   int
	parent *Limit // nil means it is not a part

	closed chan struct{} // one that was closing has been closed

	mu       sync.Mutex
	open     int
	closing  int // have made room, and are not closed yet; of the whole limit
	sources  []Source
	searched time.Time // when the last search found nothing

	evicted, refused atomic.Uint64
}

// New returns a limit of most connections.
func New(most int) *Limit { return &Limit{most: most, closed: make(chan struct{}, 1)} }

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

// Place is the share of a Limit that one open connection holds. The zero Place is empty.
type Place struct {
	limit   *Limit
	left    atomic.Bool
	closing atomic.Bool
}

// Enter counts a connection in p; false means the limit is reached, and no connection is idle.
func (l *Limit) Enter(p *Place) bool {
	l.whole().awaitClosed()
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

// Closing gives the place back for a connection that its goroutine is about to close, and then calls Leave.
func (p *Place) Closing() {
	if p.limit == nil {
		return
	}
	l := p.limit.whole()
	l.mu.Lock()
	l.closing++
	l.mu.Unlock()
	p.closing.Store(true)
	if !p.leave() { // it has just been closed
		p.endClosing()
	}
}

// endClosing notes that the connection is closed, if Closing was called.
func (p *Place) endClosing() {
	if !p.closing.CompareAndSwap(true, false) {
		return
	}
	l := p.limit.whole()
	l.mu.Lock()
	l.closing = max(0, l.closing-1) // awaitClosed may have given up
	l.mu.Unlock()
	select {
	case l.closed <- struct{}{}:
	default:
	}
}

// Leave gives the place back, and reports whether it did: only the first call has an effect.
func (p *Place) Leave() bool {
	left := p.leave()
	p.endClosing()
	return left
}

func (p *Place) leave() bool {
	if p.limit == nil || p.left.Swap(true) {
		return false
	}
	for l := p.limit; l != nil; l = l.parent {
		l.give()
	}
	return true
}

// whole returns the limit that l is a part of, or l.
func (l *Limit) whole() *Limit {
	for l.parent != nil {
		l = l.parent
	}
	return l
}

// awaitClosed waits while many connections have made room but are still open: each still has a descriptor.
func (l *Limit) awaitClosed() {
	for l.closesMany() {
		select {
		case <-l.closed:
		case <-time.After(closingWait): // their answers may be stuck; they are not waited for again
			l.mu.Lock()
			l.closing = 0
			l.mu.Unlock()
		}
	}
}

func (l *Limit) closesMany() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closing >= min(maxClosing, max(minClosing, l.most/closingShare))
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
		evicted := l.evict()
		if l.count(extra) { // connections may also have ended meanwhile
			return true
		}
		if !evicted {
			break
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

func (l *Limit) hasRoom() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open < l.most
}

// evict makes room by closing idle connections; false means there are none, though it has waited a little.
func (l *Limit) evict() bool {
	l.mu.Lock()
	recent := time.Since(l.searched) < searchPause
	l.mu.Unlock()
	if recent {
		return false
	}
	for search := range searches {
		closed, found := l.closeIdle()
		if closed > 0 || l.hasRoom() {
			return true
		}
		if found == 0 && search > 0 {
			break
		}
		time.Sleep(searchWait)
	}
	l.mu.Lock()
	l.searched = time.Now()
	l.mu.Unlock()
	return false
}

// closeIdle closes connections that are idle now. It returns how many, and of how many.
func (l *Limit) closeIdle() (closed, found int) {
	l.mu.Lock()
	sources := l.sources
	need := max(1, l.open-l.most+1) // parts may have gone above the limit
	l.mu.Unlock()
	var idle []Idle
	for _, source := range sources {
		idle = append(idle, source()...)
	}
	now := time.Now()
	most := max(l.most/evictShare, need)
	var worst class // of those that were closed
	for _, conn := range inOrder(idle, now) {
		of := conn.class(now)
		if closed == most || closed >= need && (of == young || of != worst) {
			break
		}
		if conn.Conn.CloseIdle() {
			closed, worst = closed+1, of
		}
	}
	l.evicted.Add(uint64(closed))
	return closed, len(idle)
}

// Stats is the state of a Limit. The health document has it.
type Stats struct {
	Open    int    `json:"open"`
	Limit   int    `json:"limit"`
	Evicted uint64 `json:"evicted"` // idle connections that were closed to make room
	Refused uint64 `json:"refused"` // new connections for which there was no room
}

// Stats returns the limit's state; nil means the zero Stats.
func (l *Limit) Stats() Stats {
	if l == nil {
		return Stats{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return Stats{Open: l.open, Limit: l.most, Evicted: l.evicted.Load(), Refused: l.refused.Load()}
}
