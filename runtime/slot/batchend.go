package slot

import (
	"slices"
	"time"

	"pinion/ipc"
	"pinion/runtime/predict"
)

// itemPrepared records that an item can be in a batch now.
func (s *Slot) itemPrepared(id uint64) {
	c, known := s.batches.items[id]
	switch {
	case !known || s.batches.prepared == nil || c != nil && c.batch.run != nil:
		s.ch.protocolError("a frame of kind %s for %#x, which is not being prepared", ipc.KindPrepared, id)
	case c == nil: // the drop may have reached the worker before the item
		s.ch.out = s.sendDrop(id, s.ch.out)
	case !c.batch.prepared: // only once
		c.batch.prepared = true
		b := &s.pool.batches
		b.addTo(s.batches.prepared, c, false, time.Now())
		s.ch.out = b.dispatch(s.ch.out)
	}
}

// batchDone records that the function of a batch has ended, so the model is free for the next batch.
func (s *Slot) batchDone(id uint64, took time.Duration, end ipc.BatchDone) {
	p := s.pool
	r := s.batches.run(id)
	if r == nil {
		s.ch.protocolError("the end of a batch, %#x, which does not run", id)
		return
	}
	now := time.Now()
	r.done, r.began = true, later(r.sentAt, now.Add(-took))
	s.removeRun(r)
	s.freed = now
	s.window.mean = max(1, took/time.Duration(len(r.calls)))
	if end.Failed || end.Runs != 1 || r.interrupted {
		took = -1
	}
	if s.batches.prepared != nil {
		s.batches.prepared.Ended(p.batches.sinceOrigin(now), len(r.calls), took)
	} else if p.batches.queue != nil {
		p.batches.queue.Ended(p.batches.sinceOrigin(now), len(r.calls), took)
	}
	failure := ""
	if end.Failed {
		failure = "the function raised an exception"
	}
	r.trace.end(s, r, r.began, now, failure)
	if p.o.OnBatch != nil {
		p.o.OnBatch(len(r.calls), r.holdTime)
	}
	s.removeWhenDrained()
	s.ch.out = p.batches.dispatch(s.ch.out)
}

// waitedInBatch returns how long an item waited before the model had it. took is how long the model had it.
func (c *Call) waitedInBatch(took time.Duration) time.Duration {
	began := time.Now().Add(-took)
	if c.batch.run != nil && c.batch.run.done {
		began = c.batch.run.began
	}
	return max(0, began.Sub(c.since))
}

// cancelItem cancels an item: at once, unless it is the last of a batch that runs, which is interrupted.
func (p *Pool) cancelItem(c *Call) deliveries {
	s, r, id := c.slot, c.batch.run, c.id
	result := Result{Err: ErrCanceled}
	if r != nil && !r.done {
		switch {
		case (p.admission.refusal == nil || r.live == 1) && s.words.Revoke(r.id):
			others := slices.DeleteFunc(s.takeBackRun(r), func(x *Call) bool { return x == c })
			p.end(c, result)
			return p.requeueAll(others, time.Now(), nil)
		case r.live == 1:
			p.signalCancel(c, time.Now().Add(p.o.CancelGrace))
			return nil
		}
	}
	// If the pool refuses calls, a batch that has not begun stays: its other calls could not be queued again.
	if r != nil && (r.done || s.words.Claim(r.id) != ipc.ClaimQueued) {
		began := r.began
		if !r.done {
			began = later(r.sentAt, s.freed)
		}
		result.Waited, result.Elapsed = max(0, began.Sub(c.since)), time.Since(began)
	}
	p.end(c, result)
	return p.batches.dispatch(s.sendDrop(id, nil))
}

// expireItems ends the items of a slot that are late and that the model has not begun.
func (p *Pool) expireItems(s *Slot, late func(*Call) bool, now time.Time, d deliveries) deliveries {
	var runs []*batchRun // with late items
	for id, c := range s.batches.items {
		switch {
		case c == nil || !late(c) || s.ch.closed: // Detach settles the items of a closed slot
		case c.batch.run == nil:
			p.end(c, Result{Err: predict.ErrQueueTimeout})
			d = s.sendDrop(id, d)
		case !c.batch.run.done && !slices.Contains(runs, c.batch.run):
			runs = append(runs, c.batch.run)
		}
	}
	for _, r := range runs {
		onTime := func(c *Call) bool { return !late(c) }
		if p.admission.refusal != nil && slices.ContainsFunc(r.waiting(), onTime) {
			continue // they could not be queued again
		}
		if s.words.Revoke(r.id) {
			d = p.requeueAll(s.takeBackRun(r), now, d) // ends the late ones
		}
	}
	return d
}
