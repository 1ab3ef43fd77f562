package slot

import (
	"context"
	"slices"
	"time"
)

// Stack returns what a worker does for a call, as Worker.Stack does. The error is ErrNotRunning if no worker has it.
func (p *Pool) Stack(ctx context.Context, c *Call) (string, error) {
	s := underLock(p, c.runsIn)
	if s == nil {
		return "", ErrNotRunning
	}
	return s.worker.process.Stack(ctx, slices.Index(s.worker.slots, s))
}

// Running returns the number of the worker that has begun a call, and the earliest time at which it did; a zero time
// means that none has.
func (p *Pool) Running(c *Call) (worker int, since time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := c.runsIn()
	if s == nil {
		return 0, time.Time{}
	}
	since = c.since
	if r := c.batch.run; r != nil {
		since = r.sentAt
	}
	return s.worker.hooks.Worker, later(since, s.freed)
}

// runsIn returns the slot whose worker has begun the call, its batch or its preparation, or nil.
func (c *Call) runsIn() *Slot {
	s := c.slot
	if c.state != assigned || s.ch.closed {
		return nil
	}
	id := c.id
	switch r := c.batch.run; {
	case r != nil:
		id = r.id
	case s.batches.items[c.id] == c: // it is prepared while the slot runs another
		return s
	}
	if s.words.Running() != id {
		return nil
	}
	return s
}
