package slot

import (
	"time"

	"pinion/ipc"
)

// The runtime limit (Options.PredictTimeout) is checked by sampling each slot's running word, so calls pay nothing for
// it. If the word has changed since the last check, a new call began at that check at the earliest; so a timeout is
// late by one check at most. A running word that names no call of the slot may have been overwritten by the model: then
// the oldest call that cannot be revoked counts as running.
const (
	checksPerLimit = 20
	minCheck       = time.Millisecond // the shortest time between two checks
	maxCheck       = time.Second
)

// lastRunning is what a slot ran at the last check, and since when. Guarded by pool.mu.
type lastRunning struct {
	id    uint64
	since time.Time
}

// watchRuntime starts the checks, which go on while calls are outstanding.
func (p *Pool) watchRuntime() {
	if p.o.PredictTimeout <= 0 || p.limitTimer != nil {
		return
	}
	every := min(maxCheck, max(minCheck, p.o.PredictTimeout/checksPerLimit))
	p.limitTimer = time.AfterFunc(every, func() { p.locked(p.checkRuntime) })
}

func (p *Pool) checkRuntime() (d deliveries) {
	now := time.Now()
	p.limitTimer = nil
	busy := false
	for _, s := range p.slots {
		if s.ch.closed || s.outstanding == 0 && len(s.batches.runs) == 0 {
			s.running.id = 0
			continue
		}
		busy = true
		d = p.cancelLateAnswers(s, now, d)
		id := s.runningID()
		if id == 0 || id != s.running.id {
			s.running = lastRunning{id, now}
			continue
		}
		if now.Sub(s.running.since) < p.o.PredictTimeout {
			continue
		}
		if r := s.batches.run(id); r != nil {
			p.cancelRun(r, now)
			continue
		}
		c := s.call(id)
		if c == nil || c.canceling || c.Train {
			continue
		}
		c.overLimit, c.canceling = true, true
		d = append(d, p.cancelLocked(c)...)
	}
	if busy {
		p.watchRuntime()
	}
	return d
}

// runningID returns the id of the call or batch that the model has, or 0.
func (s *Slot) runningID() uint64 {
	if id := s.words.Running(); s.has(id) {
		return id
	}
	for _, c := range s.window.oldestFirst() {
		if s.words.Claim(c.id) != ipc.ClaimQueued {
			return c.id
		}
	}
	return 0
}

func (p *Pool) cancelRun(r *batchRun, now time.Time) {
	var overdue *Call
	for _, c := range r.waiting() {
		if !c.canceling {
			c.overLimit, c.canceling, overdue = true, true, c
		}
	}
	if overdue != nil {
		p.signalCancel(overdue, now.Add(p.o.CancelGrace))
	}
}

// cancelLateAnswers cancels calls whose batch is done and whose answers take too long: a model's postprocess has the
// limit too.
func (p *Pool) cancelLateAnswers(s *Slot, now time.Time, d deliveries) deliveries {
	for _, c := range s.batches.items {
		if c == nil || c.canceling || c.batch.run == nil || !c.batch.run.done {
			continue
		}
		if now.Sub(c.batch.run.began) >= p.o.PredictTimeout {
			c.overLimit, c.canceling = true, true
			d = append(d, p.cancelItem(c)...)
		}
	}
	return d
}
