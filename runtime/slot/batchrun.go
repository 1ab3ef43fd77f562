package slot

import (
	"slices"
	"strings"
	"time"

	"pinion/ipc"
	"pinion/runtime/batch"
)

// batchRun is a batch of a slot: calls that the model gets in one run of its function. It has one claim word, so it
// begins as a whole or not at all. Its items are sent to the worker before it. Each item has an id, and each id gets
// exactly one answer, even if its call does not wait any more.
type batchRun struct {
	id          uint64
	calls       []*Call // those that had not ended when it was dispatched
	live        int     // of those, how many have not ended
	sentAt      time.Time
	holdTime    time.Duration // how long the first item was held back for others while the slot was idle
	began       time.Time     // known once it is done
	done        bool          // the function has ended; answers may still come
	interrupted bool          // its duration does not count
	trace       *batchTrace   // nil if none of its calls is traced
}

// waiting lists the calls that wait for the batch's end.
func (r *batchRun) waiting() []*Call {
	calls := make([]*Call, 0, r.live)
	for _, c := range r.calls {
		if c.batch.run == r {
			calls = append(calls, c)
		}
	}
	return calls
}

const maxNames = 8

// names returns the ids of predictions, for the log.
func names(calls []*Call) string {
	var ids []string
	for i, c := range calls {
		if i == maxNames {
			ids = append(ids, "…")
			break
		}
		ids = append(ids, c.Name)
	}
	return strings.Join(ids, ",")
}

// slotBatches holds the batches of a slot and their items. Guarded by pool.mu.
type slotBatches struct {
	items      map[uint64]*Call      // by id; nil if the call has ended and its answer is due
	onAnswered map[uint64]func()     // called with the answers of ended calls
	runs       []*batchRun           // those that are not done, in their order
	prepared   *batch.Batcher[*Call] // the items that the worker has prepared; nil if it prepares none
}

// run returns the unfinished batch of that id, or nil.
func (b *slotBatches) run(id uint64) *batchRun {
	for _, r := range b.runs {
		if r.id == id {
			return r
		}
	}
	return nil
}

// waiting reports whether an item has no batch yet.
func (b *slotBatches) waiting() bool {
	for _, c := range b.items {
		if c != nil && c.batch.run == nil {
			return true
		}
	}
	return false
}

// removeItem takes a call out of the items; its answer may still come.
func (b *slotBatches) removeItem(c *Call) {
	b.items[c.id] = nil
	if b.prepared != nil {
		b.prepared.Remove(&c.batch.item)
	}
	if c.batch.run != nil {
		c.batch.run.live--
		c.batch.run = nil
	}
}

// answered records the worker's answer for an item. It reports whether that answer was due.
func (b *slotBatches) answered(id uint64) (due bool) {
	_, due = b.items[id]
	delete(b.items, id)
	if f := b.onAnswered[id]; f != nil {
		delete(b.onAnswered, id)
		f()
	}
	return due
}

// settleAll calls the functions that wait for answers, after the worker has died.
func (b *slotBatches) settleAll() {
	for _, f := range b.onAnswered {
		f()
	}
	clear(b.onAnswered)
}

// sendItem sends the worker a call that it keeps until its batch is dispatched.
func (s *Slot) sendItem(c *Call, d deliveries) deliveries {
	s.bind(c, s.window.newID())
	c.batch.prepared = false
	s.batches.items[c.id] = c
	return append(d, delivery{conn: s.ch.conn, id: c.id, call: c, forBatch: true})
}

// sendDrop tells the worker that a call's answer is not needed any more.
func (s *Slot) sendDrop(id uint64, d deliveries) deliveries {
	return append(d, delivery{conn: s.ch.conn, id: id, kind: ipc.KindDrop, body: ipc.IDs(id)})
}

// dispatch sends calls as one batch: calls of the queue, or items that this slot has prepared.
func (s *Slot) dispatch(items []*batch.Item[*Call], d deliveries) deliveries {
	p := s.pool
	r := &batchRun{calls: make([]*Call, 0, len(items)), live: len(items), sentAt: time.Now()}
	ids := make([]uint64, 0, len(items))
	for _, it := range items {
		c := it.Value
		if len(s.batches.runs) == 0 {
			r.holdTime = max(r.holdTime, r.sentAt.Sub(later(s.freed, later(c.since, p.batches.origin.Add(it.Arrived())))))
		}
		if c.state == queued {
			p.dequeue(c)
		}
		if c.slot == nil {
			d = s.sendItem(c, d)
		}
		c.batch.run = r
		r.calls = append(r.calls, c)
		ids = append(ids, c.id)
	}
	clear(items) // they may be the dispatcher's scratch
	r.id = s.window.newClaim()
	s.traceBatch(r)
	s.batches.runs = append(s.batches.runs, r)
	s.words.Queue(r.id)
	p.watchRuntime()
	return append(d, delivery{
		conn: s.ch.conn, id: r.id, kind: ipc.KindBatch,
		body: ipc.BatchOf(r.trace.context(), ids...),
	})
}

func (s *Slot) removeRun(r *batchRun) {
	s.batches.runs = slices.DeleteFunc(s.batches.runs, func(x *batchRun) bool { return x == r })
	s.window.freeClaim(r.id)
}

// takeBackRun takes a revoked batch and its calls off the slot.
func (s *Slot) takeBackRun(r *batchRun) []*Call {
	calls := r.waiting()
	s.removeRun(r)
	for _, c := range calls {
		s.takeBack(c)
	}
	return calls
}
