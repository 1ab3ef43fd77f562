package slot

import (
	"maps"
	"time"

	"pinion/runtime/batch"
)

// BatchOptions say how the predictions of a model are batched.
type BatchOptions struct {
	batch.Options
	// Functions are the options of each function that is batched, by its name, "" being the model's own; nil means
	// that there are no others. The predictions of other functions run alone, and a batch never mixes functions.
	Functions map[string]*batch.Options
	// Prepare means that the worker prepares each item before it can be in a batch. The item is sent ahead of its batch.
	Prepare bool
	// Isolate means that an item runs once more, alone, if its worker died while it was in a batch with others.
	Isolate bool
}

// slotCapacity returns how many calls a slot can have: a running batch, and one that gathers meanwhile.
func (b *BatchOptions) slotCapacity() int {
	if b == nil {
		return 1
	}
	return 2 * b.MaxSize
}

// dispatcher forms batches of the calls that wait. A waiting call is always in the admission queue, which knows the
// order and the deadlines; a call that can be batched is in the batch queue as well, which decides what leaves
// together, and when. If workers prepare items, each slot has a batch queue of the items that it has prepared, and the
// pool has none. Guarded by pool.mu.
type dispatcher struct {
	pool      *Pool
	workers   int                       // that have slots and whose calls are batched
	queue     *batch.Batcher[*Call]     // nil if there never was such a worker, or if workers prepare items
	options   batch.Options             // of queue
	functions map[string]*batch.Options // of the workers, as BatchOptions.Functions
	timer     *batchTimer               // nil means a wait ends with the next arrival or answer
	origin    time.Time                 // of the queues' time
	scratch   []*batch.Item[*Call]
}

// sinceOrigin converts a time to one of the batch queues.
func (b *dispatcher) sinceOrigin(t time.Time) time.Duration { return t.Sub(b.origin) }

// add puts a waiting call into the batch queue, if there is one for it.
func (b *dispatcher) add(c *Call, again bool, now time.Time) {
	if b.queue != nil && b.takes(c) {
		b.addTo(b.queue, c, again, now)
	}
}

// takes reports whether a call can be in a batch.
func (b *dispatcher) takes(c *Call) bool {
	if c.Train || b.functions == nil {
		return !c.Train
	}
	return b.optionsOf(c) != nil
}

// optionsOf returns how the calls of a function are batched, or nil if they are not.
func (b *dispatcher) optionsOf(c *Call) *batch.Options {
	return b.functions[c.function()]
}

// newQueue returns a queue of calls.
func (b *dispatcher) newQueue(o batch.Options) *batch.Batcher[*Call] {
	queue := batch.New[*Call](o)
	if b.functions != nil {
		queue.Options = b.optionsOf
	}
	return queue
}

// addTo puts a call into a batch queue, at its old position if it was there before.
func (b *dispatcher) addTo(queue *batch.Batcher[*Call], c *Call, again bool, now time.Time) {
	m := &c.batch
	if m.queue != queue { // its serial number belongs to another queue
		m.queue, m.item = queue, batch.Item[*Call]{Deadline: m.item.Deadline}
	}
	m.item.Value, m.item.Key, m.item.Alone = c, c.Key, m.alone
	if again {
		queue.PutBack(&m.item)
	} else {
		queue.Add(&m.item, b.sinceOrigin(now))
	}
}

func (b *dispatcher) remove(c *Call) {
	if b.queue != nil {
		b.queue.Remove(&c.batch.item)
	}
}

// addWorker gets ready for a worker whose calls are batched as o says.
func (b *dispatcher) addWorker(o *BatchOptions) {
	switch {
	case o == nil && b.workers == 0:
		b.queue, b.functions = nil, nil
		return
	case o == nil:
		return
	}
	same := maps.EqualFunc(b.functions, o.Functions, func(x, y *batch.Options) bool { return *x == *y })
	b.functions = o.Functions
	if !o.Prepare && (b.queue == nil || b.options != o.Options || !same) {
		b.queue, b.options = b.newQueue(o.Options), o.Options
		now := time.Now()
		for c := b.pool.admission.queue.head; c != nil; c = c.next {
			b.add(c, false, now)
		}
	}
	if b.workers++; b.workers == 1 {
		b.timer, _ = newBatchTimer(b.timerFired) // fails where no descriptor is left
	}
}

// removeWorker records that a worker whose calls are batched has left the pool.
func (b *dispatcher) removeWorker() {
	if b.workers--; b.workers == 0 {
		b.timer.stop()
		b.timer = nil
	}
}

// timerFired is called by the timer, without the lock.
func (b *dispatcher) timerFired() {
	b.pool.locked(func() deliveries {
		if b.timer != nil {
			b.timer.firesAt = 0
		}
		return b.dispatch(nil)
	})
}

// dispatch sends the batches that are due. It is called when a slot may have become idle, when a call came or left, and
// when the timer fires.
func (b *dispatcher) dispatch(d deliveries) deliveries {
	if b.workers == 0 {
		return d
	}
	now := b.sinceOrigin(time.Now())
	d, ask := b.dispatchPrepared(b.sendItems(d), now)
	for b.queue != nil {
		s, idle := b.idleSlot()
		if s == nil {
			d = b.dispatchAhead(d)
			break
		}
		if b.steal(s, &d) { // it is older than what waits
			continue
		}
		if head := b.pool.admission.queue.head; head != nil && !b.takes(head) {
			b.pool.dequeue(head)
			d = append(d, s.assign(head))
			continue
		}
		var again time.Duration
		if b.scratch, again = b.queue.Take(now, idle, b.workers, b.scratch[:0]); len(b.scratch) == 0 {
			ask = earlier(ask, again)
			break
		}
		d = s.dispatch(b.scratch, d)
	}
	b.timer.set(ask, now)
	clear(b.scratch)
	return d
}

// dispatchPrepared sends batches of prepared items. It returns when to ask again, or 0.
func (b *dispatcher) dispatchPrepared(d deliveries, now time.Duration) (_ deliveries, ask time.Duration) {
	for _, s := range b.pool.slots {
		if s.batches.prepared == nil || !s.hasNothingToRun() {
			continue
		}
		var again time.Duration
		if b.scratch, again = s.batches.prepared.Take(now, 1, 1, b.scratch[:0]); len(b.scratch) > 0 {
			d = s.dispatch(b.scratch, d)
		}
		ask = earlier(ask, again)
	}
	return d, ask
}

// earlier returns the earlier of two times; 0 means no time.
func earlier(a, b time.Duration) time.Duration {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// hasNothingToRun reports whether an open slot has neither a batch nor a call outside of one.
func (s *Slot) hasNothingToRun() bool {
	return len(s.batches.runs) == 0 && s.window.count == 0 && !s.ch.closed
}

// takesBatches reports whether the slot may get batches from the pool's batch queue.
func (s *Slot) takesBatches() bool {
	return s.worker.batching != nil && s.batches.prepared == nil && s.takesCalls()
}

// idleSlot returns the slot for the next batch, of the worker with the fewest calls, and how many slots are idle.
func (b *dispatcher) idleSlot() (best *Slot, idle int) {
	for _, s := range b.pool.slots {
		if !s.takesBatches() || !s.hasNothingToRun() {
			continue
		}
		idle++
		if best == nil || s.worker.outstanding < best.worker.outstanding {
			best = s
		}
	}
	return best, idle
}

// dispatchAhead gives slots with one batch a second one that will not grow any more. If a call that runs alone is next it
// dispatches none, because that call needs an idle slot.
func (b *dispatcher) dispatchAhead(d deliveries) deliveries {
	if head := b.pool.admission.queue.head; head == nil || !b.takes(head) {
		return d
	}
	for _, s := range b.pool.slots {
		if !s.takesBatches() || len(s.batches.runs) != 1 || s.window.count > 0 {
			continue
		}
		if b.scratch = b.queue.TakeAhead(b.scratch[:0]); len(b.scratch) == 0 {
			break
		}
		d = s.dispatch(b.scratch, d)
	}
	return d
}

// steal moves a batch that another slot has not begun to an idle one.
func (b *dispatcher) steal(to *Slot, d *deliveries) bool {
	for _, s := range b.pool.slots {
		runs := s.batches.runs
		if s == to || s.batches.prepared != nil || s.ch.closed || len(runs) < 2 {
			continue
		}
		r := runs[len(runs)-1]
		if r.live > to.worker.batching.MaxSize || !s.words.Revoke(r.id) {
			continue
		}
		b.scratch = b.scratch[:0]
		for _, c := range s.takeBackRun(r) {
			b.scratch = append(b.scratch, &c.batch.item)
		}
		*d = to.dispatch(b.scratch, *d)
		return true
	}
	return false
}

// sendItems sends calls to the workers that are to prepare them, about two full batches to each.
func (b *dispatcher) sendItems(d deliveries) deliveries {
	p := b.pool
	for p.admission.queue.head != nil {
		c := p.admission.queue.head
		best := b.slotToPrepare(c)
		if best == nil {
			break
		}
		p.dequeue(c)
		if !b.takes(c) {
			d = append(d, best.assign(c))
		} else {
			d = best.sendItem(c, d)
		}
	}
	return d
}

// slotToPrepare returns the slot with the fewest calls that may get c before any batch, or nil.
func (b *dispatcher) slotToPrepare(c *Call) (best *Slot) {
	for _, s := range b.pool.slots {
		if s.batches.prepared == nil || !s.takesCalls() || !b.takes(c) && (!s.hasNothingToRun() || s.batches.waiting()) {
			continue
		}
		if c.batch.suspect && s.worker.outstanding > 0 || s.worker.hasSuspect() {
			continue
		}
		if s.outstanding < s.worker.batching.slotCapacity() && (best == nil || s.outstanding < best.outstanding) {
			best = s
		}
	}
	return best
}

// hasSuspect reports whether the worker has a call that must run without others.
func (w *workerSlots) hasSuspect() bool {
	if w.outstanding != 1 {
		return false
	}
	for _, s := range w.slots {
		for _, c := range s.batches.items {
			if c != nil && c.batch.suspect {
				return true
			}
		}
	}
	return false
}

// takeBackItems requeues the items of an unusable worker that are in no batch, except for the item of slot of with the
// id answered.
func (p *Pool) takeBackItems(w *workerSlots, of *Slot, answered uint64) (d deliveries) {
	var back []*Call
	for _, s := range w.slots {
		for id, c := range s.batches.items {
			if c == nil || c.batch.run != nil || s.ch.closed || s == of && id == answered {
				continue
			}
			s.takeBack(c)
			d = s.sendDrop(id, d)
			back = append(back, c)
		}
	}
	return p.requeueAll(back, time.Now(), d)
}
