package supervise

import (
	"sync"
	"time"
)

// When workers die too often, none is started for a pause. Then one worker of the fleet is tried. If it dies without a
// success, the next pause is twice as long.
const (
	firstPause = 30 * time.Second
	maxPause   = 5 * time.Minute
	// hopelessPauses is the number of pauses in a row after which the server counts as one that does not recover by
	// itself.
	hopelessPauses = 4
)

// breaker is the circuit breaker of a fleet's restarts. It is open during a pause and while one worker is tried.
type breaker struct {
	mu      sync.Mutex
	open    bool
	pauses  int           // consecutive, without a success in between
	due     time.Time     // the end of the pause
	tried   *Supervisor   // whose worker is tried, or nil
	changed chan struct{} // closed and replaced at each change
}

func newBreaker() *breaker { return &breaker{changed: make(chan struct{})} }

// trip opens the breaker because a worker of s has died once too often, or while it was tried.
func (b *breaker) trip(s *Supervisor, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open && b.tried != s {
		return // another worker of the fleet has opened the breaker
	}
	b.open, b.tried, b.due = true, nil, now.Add(pauseAfter(b.pauses))
	b.pauses++
	b.wake()
}

// pauseAfter returns the length of the pause that follows that many consecutive ones.
func pauseAfter(pauses int) time.Duration {
	pause := firstPause
	for i := 0; i < pauses && pause < maxPause; i++ {
		pause *= 2
	}
	return min(pause, maxPause)
}

// mayStart reports whether s may start a worker: the breaker is closed, or the pause is over and no other worker is
// tried. Otherwise it returns when to ask again: after that time, or when changed is closed.
func (b *breaker) mayStart(s *Supervisor, now time.Time) (yes bool, wait time.Duration, changed <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case !b.open:
		return true, 0, nil
	case b.tried == nil && !now.Before(b.due):
		b.tried = s
		return true, 0, nil
	case b.tried == nil:
		return false, b.due.Sub(now), b.changed
	default:
		return false, maxPause, b.changed
	}
}

// ready closes the breaker if the worker of s is the one that is tried: the others may be started too.
func (b *breaker) ready(s *Supervisor) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tried == s {
		b.open, b.tried = false, nil
		b.wake()
	}
}

// close allows all workers to be started, because an operator asked for it.
func (b *breaker) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open, b.tried = false, nil
	b.wake()
}

// leave ends a try that had no result.
func (b *breaker) leave(s *Supervisor) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tried == s {
		b.tried = nil
		b.wake()
	}
}

// served records that a worker has had a success, so that the next pause is the shortest again.
func (b *breaker) served() {
	b.mu.Lock()
	b.pauses = 0
	b.mu.Unlock()
}

// wake makes waiting supervisors ask again. Called with the lock held.
func (b *breaker) wake() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// state returns when the pause ends, and whether the fleet may still recover by itself.
func (b *breaker) state() (due time.Time, hope bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.due, b.pauses < hopelessPauses
}
