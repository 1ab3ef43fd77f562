package slot

import (
	"cmp"
	"slices"
	"time"

	"pinion/ipc"
	"pinion/runtime/trace"
)

// Slot is the front's side of one slot of a worker.
type Slot struct {
	pool   *Pool
	worker *workerSlots
	place  trace.Attrs // for spans
	ch     *channel    // of this slot, or of all of its worker

	// Guarded by pool.mu.
	words       ipc.Slot // claim, running and cancel words
	window      window
	batches     slotBatches
	outstanding int         // calls, those of batches included
	freed       time.Time   // when its last call ended, or the slot was made
	served      bool        // a call has succeeded
	listedIdle  bool        // it is in pool.idle; it may not be idle any more
	retiring    bool        // it gets no call any more
	removed     bool        // it has left the pool
	packedAt    uint64      // calls that it had had at the last check; see threads.go
	stale       bool        // it had had no more at the check before, and has answered none since
	givenUp     uint64      // the call that its thread still runs, though it has ended; see threads.go
	running     lastRunning // see runtimelimit.go
	stall       stall       // see stalled.go
	pollPause   int         // see busypoll.go
	granted     time.Duration
}

func newSlot(p *Pool, w *workerSlots, index int, conn *ipc.Conn, words ipc.Slot) *Slot {
	s := &Slot{
		pool: p, worker: w, place: placeOf(w, index), words: words,
		window: window{free: ^uint64(0), size: minWindow, slot: index},
		freed:  time.Now(),
	}
	if index > 0 && w.slots[0].ch.conn == conn {
		s.ch = w.slots[0].ch
	} else {
		s.ch = newChannel(conn)
	}
	s.ch.slots = append(s.ch.slots, s)
	if w.hooks.Streamed {
		s.window.size, s.window.single = 1, true
	}
	if w.batching != nil {
		s.batches.items, s.batches.onAnswered = make(map[uint64]*Call), make(map[uint64]func())
		if w.batching.Prepare {
			s.batches.prepared = p.batches.newQueue(w.batching.Options)
		}
	}
	return s
}

// assign gives the slot a call. The caller queues and flushes the delivery without the lock.
func (s *Slot) assign(c *Call) delivery {
	id := s.window.newClaim()
	s.bind(c, id)
	s.window.add(c)
	s.pool.watchRuntime()
	s.words.Queue(id)
	return delivery{conn: s.ch.conn, id: id, call: c}
}

// bind adds a call to the slot, under that id.
func (s *Slot) bind(c *Call, id uint64) {
	c.resent = c.resent || c.id != 0
	c.moveTo(assigned)
	c.id, c.slot = id, s
	s.outstanding++
	s.ch.outstanding++
	s.worker.outstanding++
	if s.worker.threads && c.alone() {
		s.worker.exclusive = true
	}
	s.ch.attend(c)
}

// unassign takes a call off the slot.
func (s *Slot) unassign(c *Call) {
	if s.batches.items[c.id] == c {
		s.batches.removeItem(c)
	} else {
		s.window.remove(c)
	}
	c.moveTo(unassigned)
	c.slot = nil
	s.outstanding--
	s.ch.outstanding--
	s.worker.outstanding--
	s.ch.unfollow(c)
	if s.ch.draining && s.ch.outstanding == 0 {
		s.ch.signalDrained()
	}
	if s.worker.exclusive {
		s.worker.leftExclusive()
	}
	s.removeWhenDrained()
	s.listIdle()
}

// takeBack takes a call off the slot, to run elsewhere.
func (s *Slot) takeBack(c *Call) {
	s.unassign(c)
	s.ch.demote(c)
}

// call returns the outstanding call of that id, or nil.
func (s *Slot) call(id uint64) *Call {
	if c := s.window.calls[ipc.ClaimIndex(id)]; c != nil && c.id == id {
		return c
	}
	return s.batches.items[id]
}

// callsOf returns the outstanding call of that id, or the calls of the batch of that id.
func (s *Slot) callsOf(id uint64) []*Call {
	if c := s.call(id); c != nil {
		return []*Call{c}
	}
	if r := s.batches.run(id); r != nil {
		return r.waiting()
	}
	return nil
}

// has reports whether an id is of a call or batch of the slot.
func (s *Slot) has(id uint64) bool {
	return id != 0 && (s.call(id) != nil || s.batches.run(id) != nil)
}

// waits reports whether the model has not begun an outstanding call.
func (s *Slot) waits(c *Call) bool {
	if s.batches.items[c.id] != c {
		return s.words.Claim(c.id) == ipc.ClaimQueued
	}
	r := c.batch.run
	return r == nil || !r.done && s.words.Claim(r.id) == ipc.ClaimQueued
}

func (s *Slot) takesCalls() bool { return !s.ch.closed && !s.retiring && !s.worker.exclusive }

func (s *Slot) isIdle() bool { return s.outstanding == 0 && s.takesCalls() }

// listIdle lists an idle slot for the next call.
func (s *Slot) listIdle() {
	if s.isIdle() && !s.listedIdle && s.worker.batching == nil {
		s.listedIdle = true
		s.pool.idle = append(s.pool.idle, s)
	}
}

// removeWhenDrained removes a retiring slot once it has nothing to do.
func (s *Slot) removeWhenDrained() {
	if s.retiring && s.outstanding == 0 && len(s.batches.runs) == 0 {
		s.pool.removeSlot(s)
	}
}

// choose returns the slot for the next call: an idle one, or else the one with the fewest outstanding calls that has
// room in its window, or nil. No call overtakes one that waits for a worker to itself.
func (p *Pool) choose(c *Call) *Slot {
	if head := p.admission.queue.head; head != nil && head.alone() {
		return nil
	}
	if p.threads && c.alone() {
		return p.chooseAlone(c)
	}
	if s := p.chooseIdle(); s != nil {
		if s.worker.hooks.Packs && s.worker.outstanding > 0 {
			return cmp.Or(p.packed(s), s)
		}
		return s
	}
	var best *Slot
	for _, s := range p.slots {
		if s.takesCalls() && s.worker.batching == nil && s.outstanding < s.window.size &&
			(best == nil || s.outstanding < best.outstanding) {
			best = s
		}
	}
	return best
}

// chooseIdle takes a slot off the list of idle ones: of the worker with the fewest calls, the slot used last, because
// its caches are warm.
func (p *Pool) chooseIdle() *Slot {
	for n := len(p.idle); n > 0; n = len(p.idle) {
		best := n - 1
		for i := best - 1; i >= 0 && p.workers > 1 && p.idle[best].worker.outstanding > 0; i-- {
			if s := p.idle[i]; s.isIdle() && s.worker.outstanding < p.idle[best].worker.outstanding {
				best = i
			}
		}
		s := p.idle[best]
		p.idle[best] = p.idle[n-1]
		p.idle = p.idle[:n-1]
		s.listedIdle = false
		if s.isIdle() {
			return s
		}
	}
	return nil
}

// refill gives the slot waiting calls: from the queue up to its window, or, if it is idle and the queue is empty, half
// of the calls that another slot has not begun.
func (s *Slot) refill(d deliveries) deliveries {
	p := s.pool
	if s.ch.closed {
		return d
	}
	if s.worker.batching != nil {
		return p.batches.dispatch(d)
	}
	if s.retiring {
		return s.ch.flushDelayed(d)
	}
	for s.outstanding < s.window.size && p.admission.queue.head != nil && s.mayTake(p.admission.queue.head) {
		c := p.admission.queue.head
		p.dequeue(c)
		d = append(d, s.assign(c))
	}
	if s.worker.freed {
		d = s.refillOthers(d)
	}
	if s.outstanding == 0 && len(p.slots) > 1 && s.takesCalls() {
		d = s.steal(d)
	}
	s.listIdle()
	return s.ch.flushDelayed(d)
}

// steal moves waiting calls to this idle slot: from the fullest other one, or, if all of its calls have begun, from
// any.
func (s *Slot) steal(d deliveries) deliveries {
	var fullest *Slot
	for _, v := range s.pool.slots {
		if s.canStealFrom(v) && (fullest == nil || v.outstanding > fullest.outstanding) {
			fullest = v
		}
	}
	if fullest == nil {
		return d
	}
	d = s.stealFrom(fullest, d)
	for _, v := range s.pool.slots {
		if s.outstanding > 0 {
			break
		}
		if v != fullest && s.canStealFrom(v) {
			d = s.stealFrom(v, d)
		}
	}
	return d
}

func (s *Slot) canStealFrom(v *Slot) bool {
	return v != s && !v.ch.closed && v.worker.batching == nil && v.outstanding > 1 && (v.worker != s.worker || !v.packs())
}

// stealFrom moves half of the calls that a slot has not begun, the oldest first.
func (s *Slot) stealFrom(from *Slot, d deliveries) deliveries {
	want := from.outstanding / 2
	for _, c := range from.window.oldestFirst() {
		if want == 0 {
			break
		}
		if !from.words.Revoke(c.id) {
			continue // the model has it
		}
		from.takeBack(c)
		d = append(d, s.assign(c))
		want--
	}
	return from.ch.flushDelayed(d)
}

func (s *Slot) Served() bool { return underLock(s.pool, func() bool { return s.served }) }

// Running returns the name of the call that the model has now, or of the first that it has ended and whose answer is
// still on its way, or "". For a dead worker it returns what the worker had, until Detach.
func (s *Slot) Running() string { return underLock(s.pool, s.runningName) }

func (s *Slot) runningName() string {
	words := s.words
	if words == (ipc.Slot{}) { // the page is unmapped
		return ""
	}
	if calls := s.callsOf(words.Running()); len(calls) > 0 {
		return names(calls)
	}
	for _, c := range s.window.oldestFirst() {
		if words.Claim(c.id) == ipc.ClaimRunning {
			return c.Name
		}
	}
	for _, r := range s.batches.runs {
		if words.Claim(r.id) == ipc.ClaimRunning {
			return names(r.waiting())
		}
	}
	return ""
}

func sortByID(calls []*Call) {
	slices.SortFunc(calls, func(a, b *Call) int { return cmp.Compare(a.id, b.id) })
}
