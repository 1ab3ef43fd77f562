package slot

import (
	"context"
	"slices"
	"time"

	"pinion/ipc"
)

// drainWait bounds how long Detach waits until the last answers of a dead worker are read, for all of its slots
// together. The answers lie in the sockets already; only a descriptor that leaked to a grandchild can keep the sockets
// open.
const drainWait = time.Second

// WorkerExit is what Detach needs to know about the exit of a worker.
type WorkerExit struct {
	// Cause says in words why it exited.
	Cause string
	// Logs returns the output that no call has claimed; it goes to the calls that the worker had. It is called once, after
	// the last answers were read, because those claim their own text. It may be nil.
	Logs func() []byte
	// Crashed is the slot whose thread crashed the worker; nil if that is not known, or if the slots are not threads.
	Crashed *Slot
}

// Detach removes a dead worker's slots. The calls that the model had fail with the cause, or are canceled where that
// was asked for; the others go back to the queue by the time of their arrival. It returns how many calls the model had.
func (p *Pool) Detach(slots []*Slot, e WorkerExit) (had int) {
	ctx, cancel := context.WithTimeout(context.Background(), drainWait)
	for _, s := range slots {
		s.drain(ctx)
	}
	cancel()
	for _, s := range slots {
		s.recoverAnswers()
	}
	var logs []byte
	if e.Logs != nil {
		logs = e.Logs()
	}
	p.locked(func() deliveries {
		now := time.Now()
		var back []*Call
		if len(slots) > 0 && slots[0].worker.threads {
			slots[0].worker.countBegun()
		}
		for _, s := range slots {
			s.ch.closed = true
			n, calls := p.settleCalls(s, e, logs, now)
			m, items := p.settleItems(s, e.Cause, logs, now)
			had += n + m
			back = append(append(back, calls...), items...)
			s.batches.settleAll()
			p.removeSlot(s)
			s.words = ipc.Slot{} // the page is unmapped with the worker
		}
		return p.requeueAll(back, now, nil)
	})
	for _, s := range slots {
		s.ch.conn.Close()
	}
	return had
}

// settleCalls ends the calls in a dead worker's window. It returns how many the model had, and the calls to requeue.
func (p *Pool) settleCalls(s *Slot, e WorkerExit, logs []byte, now time.Time) (had int, back []*Call) {
	cause, owns := s.crashCause(e)
	for _, c := range s.window.oldestFirst() {
		begun := !s.words.Revoke(c.id)
		var r Result
		again := begun && s.mayRunAgain(c, e)
		if begun {
			had++
			if owns && !again {
				c.addLogs("stderr", logs)
			}
			// It began when it was handed over, or when the one before it ended.
			r.Waited = later(c.since, s.freed).Sub(c.since)
			r.Elapsed = now.Sub(c.since) - r.Waited
		}
		switch {
		case c.canceling:
			r.Err = ErrCanceled
			p.end(c, r)
		case begun && !again:
			r.Err = &WorkerExitError{Cause: cause}
			p.end(c, r)
		default:
			c.isolated = c.isolated || begun
			s.takeBack(c)
			back = append(back, c)
		}
	}
	return had, back
}

// settleItems ends the items of a dead worker. It returns how many the model had, and the calls to requeue.
func (p *Pool) settleItems(s *Slot, cause string, logs []byte, now time.Time) (n int, back []*Call) {
	had, rest := s.itemsAtExit()
	for _, c := range rest {
		if c.batch.suspect { // it was the only one there
			had = append(had, c)
			continue
		}
		c.batch.suspect = s.batches.prepared != nil // its preparation may have killed the worker, even if it had ended
		back = append(back, c)
	}
	for _, c := range had {
		b := &c.batch
		began := later(c.since, s.freed)
		if b.run != nil {
			began = later(b.run.sentAt, s.freed)
		}
		r := Result{Waited: max(0, began.Sub(c.since)), Elapsed: now.Sub(began), Err: &WorkerExitError{Cause: cause}}
		switch {
		case c.canceling:
			r.Err = ErrCanceled
			p.end(c, r)
		case p.admission.refusal == nil && s.worker.batching.Isolate && b.run != nil && len(b.run.calls) > 1 && !b.alone:
			b.alone = true
			back = append(back, c)
		default:
			c.addLogs("stderr", logs)
			p.end(c, r)
		}
	}
	for _, r := range s.batches.runs {
		r.trace.end(s, r, later(r.sentAt, s.freed), now, cause)
	}
	s.batches.runs = nil
	for _, c := range back {
		s.takeBack(c)
	}
	return len(had), slices.DeleteFunc(back, func(c *Call) bool {
		if c.canceling {
			p.end(c, Result{Err: ErrCanceled})
		}
		return c.canceling
	})
}

// itemsAtExit sorts the items of a dead worker into those that the model had and the rest.
func (s *Slot) itemsAtExit() (had, rest []*Call) {
	begun := make(map[*batchRun]bool)
	for _, r := range s.batches.runs {
		begun[r] = !s.words.Revoke(r.id)
	}
	for _, c := range s.batches.items {
		switch {
		case c == nil:
		case c.batch.run != nil && (c.batch.run.done || begun[c.batch.run]):
			had = append(had, c)
		default:
			rest = append(rest, c)
		}
	}
	sortByID(had)
	sortByID(rest)
	return had, rest
}

// drain waits, without the lock, until the slot's leader has read all that the worker sent, or the answers of all
// calls.
func (s *Slot) drain(ctx context.Context) {
	if wait := underLock(s.pool, func() bool {
		s.ch.draining = s.ch.outstanding > 0 && !s.ch.closed
		return s.ch.draining
	}); !wait {
		return
	}
	select {
	case <-s.ch.drained:
	case <-ctx.Done():
		s.ch.conn.Close() // its leader, if it has one, returns
	}
}

// recoverAnswers, called without the lock, takes the answers that a dead worker had ready and did not send. It does so
// only if the leader has left: a leader that is still there waits because another process holds the socket open.
func (s *Slot) recoverAnswers() {
	if able := underLock(s.pool, func() bool {
		return s.ch.closed && s.ch.outstanding > 0 && s == s.ch.slots[0] // which has what was unsent
	}); !able {
		return
	}
	// Unusable bytes at the end are not an error: their calls fail with the cause of the exit.
	_ = s.ch.conn.RecvUnsent(s.words, s.ch.onFrame)
	s.ch.fault = nil
	s.ch.afterFrames()
}
