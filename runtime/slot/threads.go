package slot

import (
	"time"

	"pinion/ipc"
)

// The slots of a worker may be threads of one process. Then a prediction that does not end, or that crashes, affects
// the predictions beside it.

// OtherCrashed is the cause of a call's end if another call has crashed its worker.
const OtherCrashed = "the worker died: another prediction crashed it"

// alone reports whether a call has a worker with threads to itself: a training, and a call that may have crashed a
// worker.
func (c *Call) alone() bool { return c.Train || c.isolated }

// mayTake reports whether the slot may have the call in addition to what its worker has.
func (s *Slot) mayTake(c *Call) bool {
	return !s.worker.threads || !s.worker.exclusive && (!c.alone() || s.worker.outstanding == 0)
}

// chooseAlone finds a slot for a call that has its worker to itself.
func (p *Pool) chooseAlone(c *Call) *Slot {
	for _, s := range p.slots {
		if s.isIdle() && s.mayTake(c) {
			return s
		}
	}
	return nil
}

// leftExclusive allows the other slots of a worker to have calls again.
func (w *workerSlots) leftExclusive() {
	w.exclusive, w.freed = false, true
	for _, s := range w.slots {
		s.listIdle()
	}
}

// refillOthers refills the other slots of a worker after a call that had it to itself has left.
func (s *Slot) refillOthers(d deliveries) deliveries {
	s.worker.freed = false
	for _, x := range s.worker.slots {
		if x != s {
			d = x.refill(d)
		}
	}
	return d
}

// refillAll refills every slot, after the call that waited for a worker to itself has left the queue.
func (p *Pool) refillAll() (d deliveries) {
	for _, s := range p.slots {
		d = s.refill(d)
	}
	return d
}

// giveUp ends a canceled call that has not ended in time, if the call has a thread and the worker's main thread can
// still run Python. The worker then gets no other call and finishes what it has. Otherwise giveUp returns false: only
// the end of the worker ends the call.
func (p *Pool) giveUp(c *Call) (deliveries, bool) {
	s, id := c.slot, c.id
	if !s.worker.threads || !s.words.Noticed(id) {
		return nil, false
	}
	s.words.GiveUp(id)
	s.givenUp = id
	s.worker.retiring = true
	d := p.takeBackUnbegun(s.worker.slots)
	p.end(c, Result{Err: ErrCanceled})
	s.worker.process.Stuck("a canceled prediction did not end within " + p.o.CancelGrace.String())
	return d, true
}

// crashCause returns the cause for a call that the model had when its worker died, and whether the rest of the worker's
// output belongs to it.
func (s *Slot) crashCause(e WorkerExit) (cause string, owns bool) {
	if s.worker.threads && e.Crashed != nil && e.Crashed != s {
		return OtherCrashed, false
	}
	return e.Cause, true
}

// mayRunAgain reports whether a call that the model had when its worker died may run once more, alone.
func (s *Slot) mayRunAgain(c *Call, e WorkerExit) bool {
	return s.worker.hooks.Isolate && s.pool.admission.refusal == nil && e.Crashed != s && s.worker.begunAtExit > 1 &&
		!c.isolated && !c.emitted
}

// countBegun counts the calls that the model had when its worker died.
func (w *workerSlots) countBegun() {
	for _, s := range w.slots {
		for _, c := range s.window.calls {
			if c != nil && s.words.Claim(c.id) != ipc.ClaimQueued {
				w.begunAtExit++
			}
		}
	}
}

// Short predictions of a worker with a GIL gain nothing from several threads: each switch of threads costs more than a
// prediction. So they go to one slot while it is busy, as they would with one slot. If one takes longer than expected,
// those behind it go to idle slots after packedLook.
const (
	packBelow  = 50 * time.Microsecond // average time of a prediction
	packedLook = time.Millisecond
)

// packs reports whether calls run sooner behind others in this slot than in an idle slot of the worker.
func (s *Slot) packs() bool {
	return s.worker.hooks.Packs && !s.stale && s.window.mean > 0 && s.window.mean < packBelow
}

// packed returns a busy slot of an idle slot's worker if it is better for the next call, or nil.
func (p *Pool) packed(idle *Slot) *Slot {
	var best *Slot
	for _, s := range idle.worker.slots {
		if s.outstanding > 0 && s.outstanding < s.window.size && s.takesCalls() && s.packs() &&
			(best == nil || s.outstanding > best.outstanding) {
			best = s
		}
	}
	if best == nil {
		return nil
	}
	idle.listIdle()
	if p.packTimer == nil {
		p.packTimer = time.AfterFunc(packedLook, func() { p.locked(p.unpack) })
	}
	return best
}

// unpack moves calls behind one that has not ended since the last check to idle slots.
func (p *Pool) unpack() (d deliveries) {
	p.packTimer = nil
	for _, s := range p.slots {
		if s.outstanding < 2 || s.ch.closed || !s.worker.hooks.Packs {
			continue
		}
		if p.packTimer == nil {
			p.packTimer = time.AfterFunc(packedLook, func() { p.locked(p.unpack) })
		}
		answered := s.window.serial - uint64(s.outstanding)
		if s.stale = answered == s.packedAt; !s.stale {
			s.packedAt = answered
			continue
		}
		for _, x := range s.worker.slots {
			if x.isIdle() && s.outstanding > 1 {
				d = x.stealFrom(s, d)
			}
		}
	}
	return d
}
