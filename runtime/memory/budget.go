package memory

import (
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// Least is the size in bytes below which a request body is not counted: its connection's own buffers are larger.
	Least = 4 << 10
	// Small is how many bytes a holder may have and still count as small.
	Small = 64 << 10
	// LeastBudget is the smallest budget, in bytes.
	LeastBudget = 16 << 20
	// Large is how many bytes must come free at once for OnFree to be called.
	Large = 1 << 20
)

var (
	// ErrFull: there is no room at the moment.
	ErrFull = errors.New("the server's memory budget is used up")
	// ErrTooLarge: it would not fit if there were nothing else.
	ErrTooLarge = errors.New("it is larger than the server's memory budget allows")
)

// Budget is how many bytes a server may hold for its clients. A nil *Budget has no limit.
type Budget struct {
	limit     int64
	used      atomic.Int64
	evict     func(bytes int64) bool
	onFree    func()
	evictions atomic.Uint64
	refusals  atomic.Uint64

	waiting atomic.Int32 // len(waiters)
	mu      sync.Mutex
	waiters []*waiter // the first is the next to be served
}

// waiter is somebody who waits for room.
type waiter struct{ look chan struct{} } // one token: try again

// New makes a budget of so many bytes, LeastBudget at the least.
func New(limit int64) *Budget { return &Budget{limit: max(limit, LeastBudget)} }

// SetEvict says how room is made: evict removes what is kept of ended predictions until so many bytes are free, and returns
// whether it removed anything. It is called before the budget is used, and what it calls must not block.
func (b *Budget) SetEvict(evict func(bytes int64) bool) {
	if b != nil {
		b.evict = evict
	}
}

// SetOnFree says who is told when much has come free: its memory can go back to the system once it was collected. It is called
// before the budget is used; f must not block.
func (b *Budget) SetOnFree(f func()) { b.onFree = f }

// Stats is the state of a budget.
type Stats struct {
	Limit, Used int64  // bytes
	Evictions   uint64 // ended predictions that were removed to make room
	Refusals    uint64 // charges for which there was no room
}

// Stats returns the budget's state.
func (b *Budget) Stats() Stats {
	if b == nil {
		return Stats{}
	}
	return Stats{Limit: b.limit, Used: b.used.Load(), Evictions: b.evictions.Load(), Refusals: b.refusals.Load()}
}

// Waiting is how many wait for room.
func (b *Budget) Waiting() int { return int(b.waiting.Load()) }

// Evicted counts ended predictions that were removed to make room.
func (b *Budget) Evicted(n int) {
	if b != nil {
		b.evictions.Add(uint64(n))
	}
}

// Quarter is the share of ended predictions, and of webhooks that wait for another try.
func (b *Budget) Quarter() int64 {
	if b == nil {
		return 256 << 20
	}
	return b.limit / 4
}

// Most is how many bytes a single holder may have: ErrTooLarge is about more.
func (b *Budget) Most() int64 {
	if b == nil {
		return math.MaxInt64
	}
	return b.limit - b.limit/8
}

// markFor is how far a charge that makes its holder's total so large may fill the budget.
func (b *Budget) markFor(total int64) int64 {
	if total <= Small {
		return b.limit
	}
	return b.Most()
}

// take counts n bytes in where they fit below mark.
func (b *Budget) take(n, mark int64) bool {
	for {
		used := b.used.Load()
		if over := used + n - mark; over > 0 {
			if n > mark || b.evict == nil || !b.evict(over) {
				return false
			}
			continue
		}
		if b.used.CompareAndSwap(used, used+n) {
			return true
		}
	}
}

// takeNew counts n bytes of a body in, which make it so large.
func (b *Budget) takeNew(n, total int64) bool {
	if half := b.limit / 2; total > Small && total <= half {
		return b.take(n, half)
	}
	return b.take(n, b.markFor(total))
}

// TakeBody counts n bytes more of a body in, which make it so large: up to half of the budget, or more where it has the budget
// almost to itself. It does not wait.
func (b *Budget) TakeBody(n, total int64) bool {
	if b == nil || b.takeNew(n, total) {
		return true
	}
	b.refusals.Add(1)
	return false
}

// Take counts n bytes in, which make their holder's total so large, or returns false where they do not fit. It does not wait.
func (b *Budget) Take(n, total int64) bool {
	if b == nil || b.take(n, b.markFor(total)) {
		return true
	}
	b.refusals.Add(1)
	return false
}

// Free gives n bytes back.
func (b *Budget) Free(n int64) {
	if b != nil && n != 0 {
		b.used.Add(-n)
		b.Changed()
		if n >= Large && b.onFree != nil {
			b.onFree()
		}
	}
}

// Changed has whoever waits for room look again. It is called when memory becomes evictable.
func (b *Budget) Changed() {
	if b == nil || b.waiting.Load() == 0 {
		return
	}
	b.mu.Lock()
	b.wakeFirst()
	b.mu.Unlock()
}

// wakeFirst is called with the lock held.
func (b *Budget) wakeFirst() {
	if len(b.waiters) == 0 {
		return
	}
	select {
	case b.waiters[0].look <- struct{}{}:
	default:
	}
}

// Wait counts a new body of n bytes in, and waits for room at most that long; closing stop ends the wait. The error is ErrFull
// or ErrTooLarge. Whoever waits must hold nothing: it could be what another waits for.
func (b *Budget) Wait(n int64, most time.Duration, stop <-chan struct{}) error {
	if b == nil {
		return nil
	}
	if n > b.Most() {
		b.refusals.Add(1)
		return ErrTooLarge
	}
	if (n <= Small || b.waiting.Load() == 0) && b.takeNew(n, n) {
		return nil
	}
	w := &waiter{look: make(chan struct{}, 1)}
	b.mu.Lock()
	b.waiters = append(b.waiters, w)
	b.waiting.Store(int32(len(b.waiters)))
	b.wakeFirst() // it may be w; and the room may have come just before
	b.mu.Unlock()
	defer b.leave(w)
	timer := time.NewTimer(most)
	defer timer.Stop()
	for {
		select {
		case <-w.look:
			if b.takeNew(n, n) {
				return nil
			}
		case <-timer.C:
			b.refusals.Add(1)
			return ErrFull
		case <-stop:
			return ErrFull
		}
	}
}

// leave takes w out of the line, and lets the next one look.
func (b *Budget) leave(w *waiter) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, other := range b.waiters {
		if other == w {
			b.waiters = append(b.waiters[:i], b.waiters[i+1:]...)
			break
		}
	}
	b.waiting.Store(int32(len(b.waiters)))
	b.wakeFirst()
}
