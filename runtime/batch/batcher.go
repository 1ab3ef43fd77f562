package batch

import (
	"container/heap"
	"time"
)

// decider is what Batcher needs of a policy.
type decider interface{ Decide(View) Decision }

// Batcher holds what waits for one model's workers. Its methods are not safe for concurrent use.
type Batcher[T any] struct {
	policy   decider
	maxSize  int
	cost     Cost
	arrivals Arrivals
	all      queue[T]
	groups   map[string]*group[T]
	due      deadlines[T]
	spare    *group[T] // the last that was emptied, to be used again
	serial   uint64
	takes    uint64
}

// New makes an empty batcher. The options have been checked (Options.Check).
func New[T any](o Options) *Batcher[T] {
	return newBatcher[T](o.MaxSize, Policy{o})
}

func newBatcher[T any](maxSize int, policy decider) *Batcher[T] {
	return &Batcher[T]{
		policy: policy, maxSize: maxSize,
		all: queue[T]{of: allLinks[T]}, groups: map[string]*group[T]{},
	}
}

// Len is how many items wait.
func (b *Batcher[T]) Len() int { return b.all.len }

// Cost is what the batcher has learned about the cost of batches.
func (b *Batcher[T]) Cost() *Cost { return &b.cost }

// Add takes in an item that arrives now. If a worker is idle, Take is called next.
func (b *Batcher[T]) Add(it *Item[T], now time.Duration) {
	b.serial++
	it.arrived, it.serial = now, b.serial
	b.arrivals.Came(now, it.Key)
	b.enter(it, false)
}

// PutBack takes in again what Take gave out, in its old place: no model has seen it, or its worker died and it is
// to run once more, Alone. It is no arrival.
func (b *Batcher[T]) PutBack(it *Item[T]) { b.enter(it, true) }

func (b *Batcher[T]) enter(it *Item[T], front bool) {
	g := b.groups[it.Key]
	if g == nil || it.Alone {
		if g = b.spare; g == nil {
			g = &group[T]{queue: queue[T]{of: ownLinks[T]}}
		}
		b.spare = nil
		g.key, g.alone, g.holding = it.Key, it.Alone, false
		if !it.Alone {
			b.groups[it.Key] = g
		}
	}
	it.group, it.spot = g, -1
	g.insert(it, front)
	b.all.insert(it, front)
	if it.Deadline > 0 {
		heap.Push(&b.due, it)
	}
}

// Remove takes an item out: its prediction was cancelled. It returns false where the item is not waiting.
func (b *Batcher[T]) Remove(it *Item[T]) bool {
	g := it.group
	if g == nil {
		return false
	}
	g.remove(it)
	b.all.remove(it)
	if it.spot >= 0 {
		heap.Remove(&b.due, it.spot)
	}
	it.group = nil
	if g.len == 0 {
		if !g.alone {
			delete(b.groups, g.key)
		}
		g.key = ""
		b.spare = g
	}
	return true
}

// Expire takes out every item whose deadline has come and appends it to dst, the earliest deadline first.
func (b *Batcher[T]) Expire(now time.Duration, dst []*Item[T]) []*Item[T] {
	for len(b.due) > 0 && b.due[0].Deadline <= now {
		it := b.due[0]
		b.Remove(it)
		dst = append(dst, it)
	}
	return dst
}

// NextDeadline is the first deadline of all that wait; 0: none has one.
func (b *Batcher[T]) NextDeadline() time.Duration {
	if len(b.due) == 0 {
		return 0
	}
	return b.due[0].Deadline
}

// Take is asked for a worker that is idle, one of so many (1 ≤ idle ≤ workers), whenever one becomes idle, something arrives
// or is removed, or the moment comes that the last Take named. It appends the batch to run now to dst. Where there
// is none but something waits, it returns the moment at which to ask again; otherwise 0. After a batch for one
// idle worker it is asked again for the next.
func (b *Batcher[T]) Take(now time.Duration, idle, workers int, dst []*Item[T]) ([]*Item[T], time.Duration) {
	b.takes++
	b.arrivals.Asked()
	var again time.Duration
	// The key with the oldest item comes first. One that is held keeps a worker for itself: the next key is
	// looked at only for another one.
	for it := b.all.head; it != nil && idle > 0; it = it.all.next {
		g := it.group
		if g.seen == b.takes {
			continue
		}
		g.seen = b.takes
		if g.alone {
			return b.leave(g, 1, dst), 0
		}
		if !g.holding {
			g.held = now
		}
		d := b.policy.Decide(View{
			Now: now, Ready: g.len, Waiting: b.all.len, Idle: idle, Workers: workers, Held: g.held,
			Deadline: b.NextDeadline(), Cost: &b.cost, Arrivals: &b.arrivals,
		})
		if d.Run > 0 {
			return b.leave(g, d.Run, dst), 0
		}
		g.holding = true
		if again == 0 || d.Until < again {
			again = d.Until
		}
		idle--
	}
	return dst, again
}

// TakeAhead is asked for a worker that is busy, and appends to dst a batch that may lie ready for it: one that
// will not grow, because it is full, and that is next in turn.
func (b *Batcher[T]) TakeAhead(dst []*Item[T]) []*Item[T] {
	if b.all.head == nil {
		return dst
	}
	g := b.all.head.group
	switch {
	case g.alone:
		return b.leave(g, 1, dst)
	case g.len >= b.maxSize:
		return b.leave(g, b.maxSize, dst)
	}
	return dst
}

// leave takes the first n items of a group.
func (b *Batcher[T]) leave(g *group[T], n int, dst []*Item[T]) []*Item[T] {
	g.holding = false
	for it, i := g.head, 0; i < n; i++ {
		next := it.own.next
		b.Remove(it)
		dst = append(dst, it)
		it = next
	}
	return dst
}

// Ended tells that a batch of n has ended, and what it took of the worker's time. Where that says nothing about
// the cost, because the batch failed or was interrupted, took is below 0.
func (b *Batcher[T]) Ended(now time.Duration, n int, took time.Duration) {
	b.cost.Learn(n, took)
	b.arrivals.Ended(now, n)
}
