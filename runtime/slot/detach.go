package slot

import (
	"context"
	"slices"
	"time"

	"pinion/ipc"
	"pinion/runtime/predict"
)

// drainWait bounds how long Detach waits for the last answers of a dead worker to be read, for all of
// its slots together. They lie in the sockets already; only a descriptor that leaked to a grandchild
// can keep their ends open.
const drainWait = time.Second

// Autopsy is what Detach needs to know of a dead worker.
type Autopsy struct {
	// Cause says in words what became of it.
	Cause string
	// Logs returns what it wrote and nobody has claimed; it goes to the calls that it had. It is called
	// once, after the last answers were read, for those claim their own. Nil: nothing.
	Logs func() []byte
}

// Detach takes a dead worker's slots away. The calls that the model had fail with the cause, or
// are canceled where that was asked for; the others go back to the head of the queue in their
// order, and on to other slots. It returns how many calls the model had.
func (p *Pool) Detach(slots []*Slot, a Autopsy) (had int) {
	ctx, giveUp := context.WithTimeout(context.Background(), drainWait)
	for _, s := range slots {
		s.drain(ctx)
	}
	giveUp()
	for _, s := range slots {
		s.salvage()
	}
	var logs []byte
	if a.Logs != nil {
		logs = a.Logs()
	}
	p.mu.Lock()
	now := time.Now()
	var back []*Call
	for _, s := range slots {
		s.lost = true
		for _, c := range s.inOrder() {
			begun := !s.words.Revoke(c.id)
			var r Result
			if begun {
				had++
				c.addLogs("stderr", logs)
				// It began when it was handed over, or when the one before it ended.
				r.Waited = later(c.since, s.freed).Sub(c.since)
				r.Elapsed = now.Sub(c.since) - r.Waited
			}
			switch {
			case c.canceling:
				r.Err = ErrCanceled
				p.end(c, r)
			case begun:
				r.Err = &LostError{Cause: a.Cause}
				p.end(c, r)
			default:
				s.release(c)
				s.recall(c)
				back = append(back, c)
			}
		}
		n, again := p.detachRiders(s, a.Cause, logs, now)
		had += n
		back = append(back, again...)
		s.partWithAll()
		p.leave(s)
		s.words = ipc.Slot{} // the page goes with the worker
	}
	d := p.putBack(back, now, nil)
	p.mu.Unlock()
	d.deliver()
	for _, s := range slots {
		s.conn.Close()
	}
	return had
}

// putBack queues calls that lost their slots, at the head and in their order, and gives free slots what
// waits. Called with the lock held.
func (p *Pool) putBack(back []*Call, now time.Time, d deliveries) deliveries {
	slices.SortStableFunc(back, func(a, b *Call) int { return a.since.Compare(b.since) })
	for _, c := range slices.Backward(back) {
		p.requeue(c, now)
	}
	for p.stopped != nil && p.queue.head != nil {
		p.end(p.queue.head, Result{Err: p.stopped})
	}
	for _, s := range p.slots {
		if s.crew.batch == nil {
			d = s.refill(d)
		}
	}
	return p.form(d)
}

// requeue puts a call that lost its slot at the head of the queue. Called with the lock held.
func (p *Pool) requeue(c *Call, now time.Time) {
	p.enter(c, true, now)
	switch {
	case c.deadline.IsZero():
	case c.deadline.After(now):
		p.wakeAt(c.deadline, now) // the timer may have passed over it
	default:
		p.end(c, Result{Err: predict.ErrQueueTimeout})
	}
}

// drain waits until the slot's leader has read all that the worker sent, or all of its calls.
func (s *Slot) drain(ctx context.Context) {
	s.pool.mu.Lock()
	s.draining = s.count > 0 && !s.lost
	wait := s.draining
	s.pool.mu.Unlock()
	if !wait {
		return
	}
	select {
	case <-s.drained:
	case <-ctx.Done():
		s.conn.Close() // its leader, if it has one, returns
	}
}

// dry lets drain return. Called with the lock held.
func (s *Slot) dry() {
	select {
	case <-s.drained:
	default:
		close(s.drained)
	}
}

// drop forgets a slot, also among the idle ones: those below the one used last are seldom looked at, and
// with workers that come and go they would pile up. Somebody may be going through the slots meanwhile.
func (p *Pool) drop(s *Slot) {
	it := func(x *Slot) bool { return x == s }
	p.slots = slices.DeleteFunc(slices.Clone(p.slots), it)
	p.idle = slices.DeleteFunc(p.idle, it)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
