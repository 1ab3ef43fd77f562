package batch

import "time"

// Item is one prediction that waits. Its owner sets the exported fields before Batcher.Add and does not change them
// until the item has left. An item belongs to one Batcher.
type Item[T any] struct {
	Value T
	// Key means that items share a batch only if their keys are equal.
	Key string
	// Deadline is the time from which Expire takes the item out; 0 means none.
	Deadline time.Duration
	// Alone means that the item leaves as a batch of one, because it may have crashed a worker.
	Alone bool

	arrived   time.Duration
	serial    uint64
	group     *group[T] // nil while the item does not wait
	heapIndex int       // in the heap of deadlines; -1 means not there
	arrival   links[T]  // in order of arrival, of all keys
	own       links[T]  // in order of arrival, of its key
}

// Arrived returns the time of the item's Add.
func (it *Item[T]) Arrived() time.Duration { return it.arrived }

type links[T any] struct{ prev, next *Item[T] }

// group holds the waiting items of one key. It exists while it has items.
type group[T any] struct {
	queue[T]
	key       string
	alone     bool
	options   *Options      // nil means the batcher's
	holdStart time.Duration // when an idle worker was first refused
	held      bool
	lastTake  uint64 // the number of the last Take that looked at it
}

// queue is a list of items in order of arrival, through the links that of returns.
type queue[T any] struct {
	head, tail *Item[T]
	len        int
	of         func(*Item[T]) *links[T]
}

func allLinks[T any](it *Item[T]) *links[T] { return &it.arrival }
func ownLinks[T any](it *Item[T]) *links[T] { return &it.own }

// insert inserts an item by its serial number. It searches from the front if front is set, else from the end.
func (q *queue[T]) insert(it *Item[T], front bool) {
	var prev, next *Item[T]
	if front {
		for next = q.head; next != nil && next.serial < it.serial; next = q.of(next).next {
			prev = next
		}
	} else {
		for prev = q.tail; prev != nil && prev.serial > it.serial; prev = q.of(prev).prev {
			next = prev
		}
	}
	*q.of(it) = links[T]{prev, next}
	if prev == nil {
		q.head = it
	} else {
		q.of(prev).next = it
	}
	if next == nil {
		q.tail = it
	} else {
		q.of(next).prev = it
	}
	q.len++
}

func (q *queue[T]) remove(it *Item[T]) {
	l := q.of(it)
	if l.prev == nil {
		q.head = l.next
	} else {
		q.of(l.prev).next = l.next
	}
	if l.next == nil {
		q.tail = l.prev
	} else {
		q.of(l.next).prev = l.prev
	}
	*l = links[T]{}
	q.len--
}

// deadlines is a heap (container/heap) of items, the first deadline on top.
type deadlines[T any] []*Item[T]

func (d deadlines[T]) Len() int           { return len(d) }
func (d deadlines[T]) Less(i, j int) bool { return d[i].Deadline < d[j].Deadline }
func (d deadlines[T]) Swap(i, j int) {
	d[i], d[j] = d[j], d[i]
	d[i].heapIndex, d[j].heapIndex = i, j
}

func (d *deadlines[T]) Push(x any) {
	it := x.(*Item[T])
	it.heapIndex = len(*d)
	*d = append(*d, it)
}

func (d *deadlines[T]) Pop() any {
	old := *d
	it := old[len(old)-1]
	old[len(old)-1] = nil
	*d = old[:len(old)-1]
	it.heapIndex = -1
	return it
}
