package memory

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// MinCharge is the size in bytes below which a request body is not counted: the buffers of its connection are
	// larger.
	MinCharge = 4 << 10
	// Small is the size in bytes up to which a charge counts as small.
	Small = 64 << 10
	// MinBudget is the smallest budget, in bytes.
	MinBudget = 16 << 20
	// Large is how many bytes must be freed at once for the function of SetOnFree to be called.
	Large = 1 << 20
)

var (
	// ErrFull means that there is no room now.
	ErrFull = errors.New("the server's memory budget is used up")
	// ErrTooLarge means that it does not fit into an empty budget.
	ErrTooLarge = errors.New("larger than the server's memory budget allows")
)

// Budget limits the bytes that a server holds for its clients. A nil *Budget has no limit.
type Budget struct {
	limit     int64
	used      atomic.Int64
	clients   atomic.Int64 // bytes of used that AdmitClient admitted
	evict     func(bytes int64) bool
	onFree    func()
	evictions atomic.Uint64
	refusals  atomic.Uint64

	arrivals arrivals

	waiting atomic.Int32 // len(waiters)
	mu      sync.Mutex
	waiters []waiter // the first is next
	holders int      // how many of the first ones hold memory already
}

// waiter is a call of Wait. It holds a token: try again.
type waiter chan struct{}

// New makes a budget of limit bytes, at least MinBudget.
func New(limit int64) *Budget { return &Budget{limit: max(limit, MinBudget)} }

// SetEvict sets how room is made: evict removes ended predictions until so many bytes are free, and returns whether it
// removed any. It must not block. Call SetEvict before the budget is used.
func (b *Budget) SetEvict(evict func(bytes int64) bool) {
	if b != nil {
		b.evict = evict
	}
}

// SetOnFree sets what is called when Large bytes or more were freed. f must not block. Call it before the budget is
// used.
func (b *Budget) SetOnFree(f func()) { b.onFree = f }

// Stats is the state of a budget; see docs/explanation/memory.md. The health document has it.
type Stats struct {
	Used      int64  `json:"used_bytes"`
	Limit     int64  `json:"limit_bytes"`
	Evictions uint64 `json:"evictions"` // ended predictions that were evicted
	Refusals  uint64 `json:"-"`         // charges for which there was no room
	Cut       uint64 `json:"-"`         // slow arrivals that were cut to make room
}

// Stats returns the budget's state.
func (b *Budget) Stats() Stats {
	if b == nil {
		return Stats{}
	}
	return Stats{
		Used: b.used.Load(), Limit: b.limit, Evictions: b.evictions.Load(), Refusals: b.refusals.Load(),
		Cut: b.arrivals.cut.Load(),
	}
}

// Half returns half of the limit in bytes.
func (b *Budget) Half() int64 {
	if b == nil {
		return math.MaxInt64
	}
	return b.limit / 2
}

// Short reports whether more than half of the budget is used.
func (b *Budget) Short() bool { return b != nil && b.used.Load() > b.limit/2 }

// Waiting returns how many calls of Wait wait for room.
func (b *Budget) Waiting() int { return int(b.waiting.Load()) }

// Evicted counts ended predictions that were evicted.
func (b *Budget) Evicted(n int) {
	if b != nil {
		b.evictions.Add(uint64(n))
	}
}

// Quarter returns the limit in bytes for ended predictions, and for webhooks that wait for another try.
func (b *Budget) Quarter() int64 {
	if b == nil {
		return 256 << 20
	}
	return b.limit / 4
}

// Beside returns another budget, of so small a part of the limit. What is charged to it takes nothing from b.
func (b *Budget) Beside(part int64) *Budget {
	if b == nil {
		return nil
	}
	return &Budget{limit: b.limit / part}
}

// Max returns the largest charge in bytes; more is ErrTooLarge.
func (b *Budget) Max() int64 {
	if b == nil {
		return math.MaxInt64
	}
	return b.limit - b.limit/8
}

// TooLarge is ErrTooLarge with the budget's size.
func (b *Budget) TooLarge() error { return fmt.Errorf("%w, which is %d MiB", ErrTooLarge, b.limit>>20) }

// markFor returns how far a charge that makes its holder's total this large may fill the budget.
func (b *Budget) markFor(total int64) int64 {
	if total <= Small {
		return b.limit
	}
	return b.Max()
}

// arriving returns how far charges for requests that have not come whole may fill the budget.
func (b *Budget) arriving() int64 { return b.limit - b.limit/16 }

// take charges n bytes if they fit below mark.
func (b *Budget) take(n, mark int64) bool {
	for {
		used := b.used.Load()
		if excess := used + n - mark; excess > 0 {
			if n > mark || b.evict == nil || !b.evict(excess) {
				return false
			}
			continue
		}
		if b.used.CompareAndSwap(used, used+n) {
			return true
		}
	}
}

// markForNew returns how far a charge that makes a body total bytes large may fill the budget.
func (b *Budget) markForNew(total int64) int64 {
	if half := b.limit / 2; total > Small && total <= half {
		return half
	}
	return min(b.markFor(total), b.arriving())
}

// TryBody charges n more bytes of a body, which make it total bytes large: up to half of the budget, or more if little
// else is charged. It does not wait. false counts as no refusal: the caller can store the body elsewhere.
func (b *Budget) TryBody(n, total int64) bool { return b == nil || b.take(n, b.markForNew(total)) }

// TakeBody is TryBody for a body that cannot be stored elsewhere: false counts as a refusal.
func (b *Budget) TakeBody(n, total int64) bool {
	return b == nil || b.takeOrRefuse(n, b.markForNew(total))
}

// Take charges n bytes, which make their holder's total so large; false means they do not fit. It does not wait.
func (b *Budget) Take(n, total int64) bool {
	return b == nil || b.takeOrRefuse(n, b.markFor(total))
}

// TakeArriving charges n bytes for a client whose request has not come whole: the rest of the budget is for requests
// that have. false means they do not fit. It does not wait.
func (b *Budget) TakeArriving(n int64) bool {
	return b == nil || b.takeOrRefuse(n, b.arriving())
}

// AdmitClient admits n bytes of a client that waits for its answer; charge them next. false means such clients would
// have more than half of the budget, and the rest is for what runs. Call DismissClient when they are freed.
func (b *Budget) AdmitClient(n int64) bool {
	if b == nil || b.clients.Add(n) <= b.limit/2 {
		return true
	}
	b.clients.Add(-n)
	b.refusals.Add(1)
	return false
}

// DismissClient undoes AdmitClient.
func (b *Budget) DismissClient(n int64) {
	if b != nil {
		b.clients.Add(-n)
	}
}

// takeOrRefuse charges n bytes if they fit below mark. If not, it counts that, and makes room for the next ones.
func (b *Budget) takeOrRefuse(n, mark int64) bool {
	if b.take(n, mark) {
		return true
	}
	b.refusals.Add(1)
	b.makeRoom(n, mark)
	return false
}

// makeRoom cuts the slowest arrivals until n bytes will fit below mark. Smaller charges may fill the budget far above
// it, so more than n bytes may have to go.
func (b *Budget) makeRoom(n, mark int64) { b.cutSlowest(b.used.Load() + n - mark) }

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

// Changed makes the first call of Wait look again. Call it when memory has become evictable.
func (b *Budget) Changed() {
	if b == nil || b.waiting.Load() == 0 {
		return
	}
	b.mu.Lock()
	b.wakeFirst()
	b.mu.Unlock()
}

// wakeFirst makes the first waiter look again. Called with the lock held.
func (b *Budget) wakeFirst() {
	if len(b.waiters) == 0 {
		return
	}
	select {
	case b.waiters[0] <- struct{}{}:
	default:
	}
}

// Wait charges a new body of n bytes, and waits for room at most that long; closing stop ends the wait. The error is
// ErrFull or ErrTooLarge. The caller must hold no other charge, or two callers could wait for each other.
func (b *Budget) Wait(n int64, most time.Duration, stop <-chan struct{}) error {
	if b == nil {
		return nil
	}
	return b.wait(n, n, b.markForNew(n), most, stop)
}

// WaitMore is Wait for n bytes more of a request that holds some already. Such requests come before new ones, which
// leave them half of the budget. What is known before a body is read belongs into its Wait: two that need more than that
// half wait for each other.
func (b *Budget) WaitMore(held, n int64, most time.Duration, stop <-chan struct{}) error {
	if b == nil || held == 0 {
		return b.Wait(n, most, stop)
	}
	return b.wait(n, held+n, b.markFor(held+n), most, stop)
}

// wait charges n bytes, which make their holder's total so large, below mark.
func (b *Budget) wait(n, total, mark int64, most time.Duration, stop <-chan struct{}) error {
	if total > b.Max() {
		b.refusals.Add(1)
		return b.TooLarge()
	}
	more := total > n
	if (more || n <= Small || b.waiting.Load() == 0) && b.take(n, mark) {
		return nil
	}
	w := make(waiter, 1)
	b.mu.Lock()
	if more {
		b.waiters = slices.Insert(b.waiters, b.holders, w)
		b.holders++
	} else {
		b.waiters = append(b.waiters, w)
	}
	b.waiting.Store(int32(len(b.waiters)))
	b.wakeFirst() // it may be w; and the room may have come just before
	b.mu.Unlock()
	defer b.remove(w, more)
	timer := time.NewTimer(most)
	defer timer.Stop()
	ticker := time.NewTicker(cutPause)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			if b.isFirst(w) {
				b.makeRoom(n, mark)
			}
		case <-w:
			if b.take(n, mark) {
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

// isFirst reports whether w is the next to be served.
func (b *Budget) isFirst(w waiter) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.waiters[0] == w
}

// remove removes w from the queue, and lets the next one look. more means that it is one of WaitMore.
func (b *Budget) remove(w waiter, more bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if more {
		b.holders--
	}
	b.waiters = slices.DeleteFunc(b.waiters, func(other waiter) bool { return other == w })
	b.waiting.Store(int32(len(b.waiters)))
	b.wakeFirst()
}
