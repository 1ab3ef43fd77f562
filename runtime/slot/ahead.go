package slot

import (
	"context"
	"time"
)

// A job of a queue may be admitted ahead of a free slot where predictions are short: the way of the next job from the queue would
// take a good part of a prediction's time, and the slot would be idle meanwhile.
const (
	aheadBelow = 50 * time.Millisecond // how long predictions take at most for it
	aheadPause = time.Second           // for how long none is, after no slot was free for a call: predictions take longer, or requests should have a chance
)

// ahead is how many calls may be admitted though no slot is free for them.
func (p *Pool) ahead() int {
	if time.Since(p.admission.busy) < aheadPause {
		return 0
	}
	var longest time.Duration
	for _, s := range p.slots {
		if s.worker.batching != nil || s.window.mean == 0 {
			return 0 // a batch is ahead of its slot anyway; or nothing is known yet
		}
		longest = max(longest, s.window.mean)
	}
	if longest == 0 || longest >= aheadBelow {
		return 0
	}
	return 1
}

// AwaitFree waits until slots are free, and returns for how many calls. It does not claim them: AdmitFree does. With ahead, it also
// returns once one call may be admitted ahead of a slot; then free is 0. ok is false if ctx has ended.
func (p *Pool) AwaitFree(ctx context.Context, ahead bool) (free int, ok bool) {
	for {
		p.mu.Lock()
		a := &p.admission
		a.ahead = 0
		if ahead {
			a.ahead = p.ahead()
		}
		if a.open(a.ahead) {
			free = max(0, a.capacity-a.inFlight)
			p.mu.Unlock()
			return free, ctx.Err() == nil
		}
		if a.freed == nil {
			a.freed = make(chan struct{})
		}
		freed := a.freed
		p.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
			return 0, false
		}
	}
}

// AdmitFree is Admit for a call that must not wait: it claims capacity only where a slot is free, or with ahead will soon be.
func (p *Pool) AdmitFree(ahead bool) bool {
	return underLock(p, func() bool {
		a := &p.admission
		most := 0
		if ahead {
			most = p.ahead()
		}
		if !a.open(most) {
			return false
		}
		a.inFlight++
		p.singles = 0 // its caller is not a client that waits
		return true
	})
}
