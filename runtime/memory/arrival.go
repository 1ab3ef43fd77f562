package memory

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// arrivalGrace is how old an arrival is before it may be cut.
	arrivalGrace = 2 * time.Second
	// roomWait is how long requests wait for room: an arrival that would take longer keeps them from being served.
	roomWait = 10 * time.Second
	// cutPause is the time between two looks at the arrivals while a request waits for room.
	cutPause = 250 * time.Millisecond
	// fastRate is the rate in bytes a second from which an arrival is never slow, however large it is.
	fastRate = 1 << 20
	// minRest is what is still expected of an arrival of unknown size, in bytes, at the least.
	minRest = 1 << 20
)

// Arrival is what one client sends, and the memory that it holds meanwhile: a header, a body, an idle connection. While
// others wait for room, the slowest arrivals are cut. Begin it first. Its methods may be called from any goroutine.
type Arrival struct {
	budget *Budget // nil means nothing is cut
	cut    func()
	came   atomic.Int64

	// Guarded by arrivals.mu.
	rest  int64 // bytes that were still to come when it was since; negative means unknown
	since time.Time
	held  int64
}

// arrivals are what clients are sending.
type arrivals struct {
	mu      sync.Mutex
	pending map[*Arrival]struct{}
	cut     atomic.Uint64
}

// Begin adds an arrival. cut ends it; it must not block, and is called at most once after each Hold. Call End.
func (b *Budget) Begin(a *Arrival, cut func()) {
	if b == nil {
		return
	}
	a.budget, a.cut = b, cut
	b.arrivals.mu.Lock()
	defer b.arrivals.mu.Unlock()
	if b.arrivals.pending == nil {
		b.arrivals.pending = map[*Arrival]struct{}{}
	}
	b.arrivals.pending[a] = struct{}{}
}

// Hold says how many bytes the arrival has charged to the budget from now on, and how many are still to come; a
// negative rest means an unknown number. An arrival that holds none is not cut.
func (a *Arrival) Hold(held, rest int64) {
	if a.budget == nil {
		return
	}
	a.budget.arrivals.mu.Lock()
	defer a.budget.arrivals.mu.Unlock()
	a.held, a.rest, a.since = held, rest, time.Now()
	a.came.Store(0)
}

// Came says that n bytes more have come.
func (a *Arrival) Came(n int) { a.came.Add(int64(n)) }

// End removes the arrival. It has no effect on one that was not added.
func (a *Arrival) End() {
	if a.budget == nil {
		return
	}
	a.budget.arrivals.mu.Lock()
	delete(a.budget.arrivals.pending, a)
	a.budget.arrivals.mu.Unlock()
}

// rate returns how many bytes came in a second; slow means that the rest would take longer than others may wait.
func (a *Arrival) rate(now time.Time) (rate float64, slow bool) {
	age := now.Sub(a.since)
	if a.held == 0 || age < arrivalGrace {
		return 0, false
	}
	came := a.came.Load()
	rest := a.rest - came
	if a.rest < 0 {
		rest = max(minRest, came)
	}
	rate = float64(came) / age.Seconds()
	return rate, rate < fastRate && float64(rest) > rate*roomWait.Seconds()
}

// cutSlowest cuts the slowest of the arrivals that keep others waiting, until they have held n bytes.
func (b *Budget) cutSlowest(n int64) {
	for _, a := range b.arrivals.slowest(time.Now(), n) {
		b.arrivals.cut.Add(1)
		a.cut()
	}
}

// slowest returns the slowest arrivals, which have held n bytes, or all that are slow. They then hold nothing to be cut
// for.
func (as *arrivals) slowest(now time.Time, n int64) []*Arrival {
	type slow struct {
		*Arrival
		rate float64
	}
	as.mu.Lock()
	defer as.mu.Unlock()
	var found []slow
	for a := range as.pending {
		if rate, isSlow := a.rate(now); isSlow {
			found = append(found, slow{a, rate})
		}
	}
	slices.SortFunc(found, func(a, b slow) int { return cmp.Or(cmp.Compare(a.rate, b.rate), a.since.Compare(b.since)) })
	var cut []*Arrival
	for _, a := range found {
		if n <= 0 {
			break
		}
		n -= a.held
		a.held = 0
		cut = append(cut, a.Arrival)
	}
	return cut
}
