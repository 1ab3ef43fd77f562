package slot

import "time"

// signalInterval is the time between two signals to a call that does not end. A signal interrupts a wait in C code,
// which may then wait again.
const signalInterval = 100 * time.Millisecond

// lastSignal returns how long before its worker is killed the model of a canceled call gets the exception for the
// second time. Before that it gets it once, so that it can clean up.
func (p *Pool) lastSignal() time.Duration { return min(p.o.CancelGrace/4, 2*time.Second) }

func (p *Pool) cancelLocked(c *Call) deliveries {
	if c.state == queued {
		p.end(c, Result{Err: ErrCanceled})
		if p.threads && c.alone() {
			return p.refillAll()
		}
		return p.batches.dispatch(nil) // other calls may have waited for it
	}
	s := c.slot
	if s.ch.closed {
		return nil // Detach sees the mark
	}
	if s.batches.items[c.id] == c {
		return p.cancelItem(c)
	}
	if s.words.Revoke(c.id) {
		p.end(c, Result{Err: ErrCanceled})
		return s.refill(nil)
	}
	p.signalCancel(c, time.Now().Add(p.o.CancelGrace))
	return nil
}

// Pause makes the model wait before it yields the next item of a call, or lets it go on. It does not block. A call that
// is being canceled is not paused. The call must not be in a batch.
func (p *Pool) Pause(c *Call, paused bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch s := c.slot; {
	case c.state != assigned || c.canceling || s.ch.closed:
	case paused:
		s.words.Pause(c.id)
	default:
		s.words.Resume()
	}
}

// signalCancel signals a running call, again and again, until it ends or the grace is over.
func (p *Pool) signalCancel(c *Call, until time.Time) {
	s, id, target := c.slot, c.id, c.id
	if r := c.batch.run; r != nil {
		r.interrupted = true
		target = r.id // the id by which the worker knows what it runs
	}
	s.words.SetCancel(target, time.Until(until) <= p.lastSignal())
	s.words.Resume() // afterwards, so that a paused model sees the cancel
	s.worker.process.Interrupt()
	if _, ok := s.worker.process.(grouped); ok && c.Inlet != nil {
		c.Inlet.End("the prediction was canceled") // brings ranks that wait for an item to the step at which they stop
	}
	c.graceTimer = time.AfterFunc(min(signalInterval, p.lastSignal()), func() {
		p.locked(func() deliveries {
			switch {
			case c.state != assigned || c.slot != s || c.id != id || s.ch.closed:
			case time.Now().Before(until):
				p.signalCancel(c, until)
			default:
				if d, done := p.giveUp(c); done {
					return d
				}
				s.worker.process.Kill(FaultCancelTimeout, "a canceled prediction did not end within "+p.o.CancelGrace.String())
			}
			return nil
		})
	})
}
