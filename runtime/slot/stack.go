package slot

import (
	"context"
	"slices"
	"time"
)

// Stack says what a call does that a worker has, as Worker.Stack does; ErrNotRunning: none has it.
func (p *Pool) Stack(ctx context.Context, c *Call) (string, error) {
	s := underLock(p, c.runsIn)
	if s == nil {
		return "", ErrNotRunning
	}
	return s.worker.process.Stack(ctx, slices.Index(s.worker.slots, s))
}

// Running says which worker has begun a call, by its number, and since when at the earliest; zero means that none has.
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

// runsIn is the slot whose worker has begun the call, its batch or what prepares it; nil means none has.
func (c *Call) runsIn() *Slot {
	s := c.slot
	if c.state != assigned || s.ch.closed {
		return nil
	}
	id := c.id
	switch r := c.batch.run; {
	case r != nil:
		id = r.id
	case s.batches.items[c.id] == c: // it is prepared beside what the slot runs
		return s
	}
	if s.ch.words.Running() != id {
		return nil
	}
	return s
}
