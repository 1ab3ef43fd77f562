package batch

import (
	"container/heap"
	"time"
)

// decider is what a Batcher needs of a policy.
type decider interface{ Decide(View) Decision }

// Batcher holds the items that wait for one model's workers. Its methods are not safe for concurrent use.
type Batcher[T any] struct {
	// Options returns the options of an item's key, or nil for those of New. May be nil.
	Options func(T) *Options

	policy     decider
	maxSize    int
	cost       Cost
	arrivals   Arrivals
	arrived    queue[T]
	groups     map[string]*group[T]
	byDeadline deadlines[T]
	emptied    *group[T] // the last group that was emptied, for reuse
	serial     uint64
	takeCount  uint64
}

// New returns an empty batcher. The caller has checked the options with Options.Check.
func New[T any](o Options) *Batcher[T] {
	return newBatcher[T](o.MaxSize, Policy{o})
}

func newBatcher[T any](maxSize int, policy decider) *Batcher[T] {
	return &Batcher[T]{
		policy: policy, maxSize: maxSize,
		arrived: queue[T]{of: allLinks[T]}, groups: map[string]*group[T]{},
	}
}

func (b *Batcher[T]) Len() int { return b.arrived.len }

// Cost returns what the batcher has learned about the cost of batches.
func (b *Batcher[T]) Cost() *Cost { return &b.cost }

// Add adds an item that arrives now. If a worker is idle, the owner calls Take next.
func (b *Batcher[T]) Add(it *Item[T], now time.Duration) {
	b.serial++
	it.arrived, it.serial = now, b.serial
	b.arrivals.Arrived(now, it.Key)
	b.insert(it, false)
}

// PutBack puts an item that Take returned back to its old position, because no model has seen it, or because its worker
// died and it runs once more, Alone. It does not count as an arrival.
func (b *Batcher[T]) PutBack(it *Item[T]) { b.insert(it, true) }

func (b *Batcher[T]) insert(it *Item[T], front bool) {
	g := b.groups[it.Key]
	if g == nil || it.Alone {
		if g = b.emptied; g == nil {
			g = &group[T]{queue: queue[T]{of: ownLinks[T]}}
		}
		b.emptied = nil
		g.key, g.alone, g.held, g.options = it.Key, it.Alone, false, nil
		if b.Options != nil {
			g.options = b.Options(it.Value)
		}
		if !it.Alone {
			b.groups[it.Key] = g
		}
	}
	it.group, it.heapIndex = g, -1
	g.insert(it, front)
	b.arrived.insert(it, front)
	if it.Deadline > 0 {
		heap.Push(&b.byDeadline, it)
	}
}

// Remove takes an item out, for example because its prediction was canceled. It returns false if the item does not
// wait.
func (b *Batcher[T]) Remove(it *Item[T]) bool {
	g := it.group
	if g == nil {
		return false
	}
	g.remove(it)
	b.arrived.remove(it)
	if it.heapIndex >= 0 {
		heap.Remove(&b.byDeadline, it.heapIndex)
	}
	it.group = nil
	if g.len == 0 {
		if !g.alone {
			delete(b.groups, g.key)
		}
		g.key = ""
		b.emptied = g
	}
	return true
}

// Expire takes out every item whose deadline has passed and appends it to dst, the earliest deadline first.
func (b *Batcher[T]) Expire(now time.Duration, dst []*Item[T]) []*Item[T] {
	for len(b.byDeadline) > 0 && b.byDeadline[0].Deadline <= now {
		it := b.byDeadline[0]
		b.Remove(it)
		dst = append(dst, it)
	}
	return dst
}

// NextDeadline returns the first deadline of all that wait; 0 means none has one.
func (b *Batcher[T]) NextDeadline() time.Duration {
	if len(b.byDeadline) == 0 {
		return 0
	}
	return b.byDeadline[0].Deadline
}

// Take appends a batch for one of the idle workers to dst; 1 ≤ idle ≤ workers. If there is no batch but items wait, it
// returns the time at which to ask again; otherwise 0. The owner asks when a worker becomes idle, an item arrives or is
// removed, or that time comes; after a batch it asks again for the next idle worker.
func (b *Batcher[T]) Take(now time.Duration, idle, workers int, dst []*Item[T]) ([]*Item[T], time.Duration) {
	b.takeCount++
	b.arrivals.WorkerIdle()
	var again time.Duration
	// The key with the oldest item comes first. A held key reserves a worker: the next key needs another one.
	for it := b.arrived.head; it != nil && idle > 0; it = it.arrival.next {
		g := it.group
		if g.lastTake == b.takeCount {
			continue
		}
		g.lastTake = b.takeCount
		if g.alone {
			return b.takeFrom(g, 1, dst), 0
		}
		if !g.held {
			g.holdStart = now
		}
		d := b.policyOf(g).Decide(View{
			Now: now, Ready: g.len, Waiting: b.arrived.len, Idle: idle, Workers: workers, HoldStart: g.holdStart,
			Deadline: b.NextDeadline(), Cost: &b.cost, Arrivals: &b.arrivals,
		})
		if d.Run > 0 {
			return b.takeFrom(g, d.Run, dst), 0
		}
		g.held = true
		if again == 0 || d.Until < again {
			again = d.Until
		}
		idle--
	}
	return dst, again
}

// TakeAhead appends the next batch to dst, for a busy worker to run afterwards. It does so only if that batch is full
// and so cannot grow.
func (b *Batcher[T]) TakeAhead(dst []*Item[T]) []*Item[T] {
	if b.arrived.head == nil {
		return dst
	}
	g := b.arrived.head.group
	switch {
	case g.alone:
		return b.takeFrom(g, 1, dst)
	case g.len >= b.largest(g):
		return b.takeFrom(g, b.largest(g), dst)
	}
	return dst
}

// policyOf returns the policy of a group.
func (b *Batcher[T]) policyOf(g *group[T]) decider {
	if g.options != nil {
		return Policy{*g.options}
	}
	return b.policy
}

// largest returns the largest batch of a group.
func (b *Batcher[T]) largest(g *group[T]) int {
	if g.options != nil {
		return g.options.MaxSize
	}
	return b.maxSize
}

func (b *Batcher[T]) takeFrom(g *group[T], n int, dst []*Item[T]) []*Item[T] {
	g.held = false
	for it, i := g.head, 0; i < n; i++ {
		next := it.own.next
		b.Remove(it)
		dst = append(dst, it)
		it = next
	}
	return dst
}

// Ended records the end of a batch of n items, and how long it took. A negative took means that the batch failed or was
// interrupted, so its duration says nothing about the cost.
func (b *Batcher[T]) Ended(now time.Duration, n int, took time.Duration) {
	b.cost.Learn(n, took)
	b.arrivals.Ended(now, n)
}
