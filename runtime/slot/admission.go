package slot

import (
	"context"
	"slices"
	"time"

	"pinion/runtime/predict"
)

// admission decides which calls enter the pool, and holds the queue of those without a slot. Guarded by pool.mu.
type admission struct {
	limit      int   // Options.Queue
	capacity   int   // calls that the slots can have
	inFlight   int   // calls admitted and not ended
	refusal    error // why no call is admitted; nil means the pool is open
	queue      list
	throughput throughput
	freed      chan struct{} // closed when a call may have a slot at once; nil means no caller waits
}

// leave gives back the capacity of a call that has ended. A group's capacity is given back with its last call.
func (a *admission) leave(g *predict.Group) {
	if g != nil {
		if g.Live--; g.Live > 0 {
			return
		}
	}
	a.inFlight--
	if a.freed != nil && a.open() { // otherwise queued calls come first, and a wake-up would cost each request a switch
		a.wake()
	}
}

// wake makes the callers of AwaitCapacity look again.
func (a *admission) wake() {
	if a.freed != nil {
		close(a.freed)
		a.freed = nil
	}
}

// open reports whether a slot is free for a call from outside.
func (a *admission) open() bool { return a.refusal == nil && a.inFlight < a.capacity }

// retryAfter estimates when the queue of now will have begun, at least a second: by the throughput, or while that is
// unknown by the time that the model takes in each slot.
func (a *admission) retryAfter(slots []*Slot) time.Duration {
	each := a.throughput.perCall()
	if each == 0 {
		var rate float64 // calls a second
		for _, s := range slots {
			if s.window.mean > 0 {
				rate += 1 / s.window.mean.Seconds()
			}
		}
		if rate > 0 {
			each = time.Duration(float64(time.Second) / rate)
		}
	}
	wait := each * time.Duration(a.queue.len+1)
	return max(time.Second, wait.Round(time.Second))
}

// endRefused ends the calls in the queue of a closed pool.
func (p *Pool) endRefused() {
	for a := &p.admission; a.refusal != nil && a.queue.head != nil; {
		p.end(a.queue.head, Result{Err: a.refusal})
	}
}

// enqueue puts a call into the queue, and into the batch queue if it can be batched.
func (p *Pool) enqueue(c *Call, byArrival bool, now time.Time) {
	c.moveTo(queued)
	if byArrival {
		p.admission.queue.insertByArrival(c)
	} else {
		p.admission.queue.pushBack(c)
	}
	p.admission.throughput.start(now)
	p.batches.add(c, byArrival, now)
}

// dequeue takes a call out of the queues. The caller changes its state.
func (p *Pool) dequeue(c *Call) {
	p.batches.remove(c)
	p.admission.queue.remove(c)
	if p.admission.queue.len == 0 {
		p.admission.throughput.pause(time.Now())
	}
}

// requeueAll queues calls that were taken off their slots, in the order of their arrival, and refills free slots from
// the queue.
func (p *Pool) requeueAll(calls []*Call, now time.Time, d deliveries) deliveries {
	slices.SortStableFunc(calls, func(a, b *Call) int { return a.since.Compare(b.since) })
	for _, c := range slices.Backward(calls) {
		p.requeue(c, now)
	}
	p.endRefused()
	for _, s := range p.slots {
		if s.worker.batching == nil {
			d = s.refill(d)
		}
	}
	return p.batches.dispatch(d)
}

// requeue queues a call that was taken off its slot, or ends it if its deadline has passed.
func (p *Pool) requeue(c *Call, now time.Time) {
	p.enqueue(c, true, now)
	switch {
	case c.deadline.IsZero():
	case c.deadline.After(now):
		p.expireAt(c.deadline, now) // the timer may have passed the deadline
	default:
		p.end(c, Result{Err: predict.ErrQueueTimeout})
	}
}

// reject returns why a call ends as soon as it is submitted, or nil.
func (p *Pool) reject(c *Call, now time.Time) error {
	switch {
	case c.canceling:
		return ErrCanceled
	case p.admission.refusal != nil:
		return p.admission.refusal
	case !c.Deadline.IsZero() && !c.Deadline.After(now):
		return predict.ErrQueueTimeout
	}
	return nil
}

// position implements QueuePosition.
func (p *Pool) position(c *Call) int {
	position := 1
	switch c.state {
	case queued:
		for x := c.prev; x != nil; x = x.prev {
			position++
		}
	case assigned:
		if c.slot.ch.closed || !c.slot.waits(c) {
			return 0
		}
	default:
		return 0
	}
	for _, s := range p.slots {
		if s.ch.closed {
			continue
		}
		before := func(x *Call) bool {
			return x != nil && x != c && s.waits(x) && (c.state == queued || x.since.Before(c.since))
		}
		for _, x := range s.window.calls {
			if before(x) {
				position++
			}
		}
		for _, x := range s.batches.items {
			if before(x) {
				position++
			}
		}
	}
	return position
}

// AwaitCapacity waits until slots are free, and returns how many calls they can take. It does not claim them: AdmitFree
// does. It returns 0 if ctx has ended.
func (p *Pool) AwaitCapacity(ctx context.Context) int {
	for {
		p.mu.Lock()
		a := &p.admission
		if a.open() {
			free := a.capacity - a.inFlight
			p.mu.Unlock()
			if ctx.Err() != nil {
				return 0
			}
			return free
		}
		if a.freed == nil {
			a.freed = make(chan struct{})
		}
		freed := a.freed
		p.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
			return 0
		}
	}
}

// Free returns how many calls the free slots can take.
func (p *Pool) Free() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if a := &p.admission; a.open() {
		return a.capacity - a.inFlight
	}
	return 0
}

// AdmitFree is Admit for a call that must not wait: it claims capacity only where a slot is free.
func (p *Pool) AdmitFree() bool {
	return underLock(p, func() bool {
		a := &p.admission
		if !a.open() {
			return false
		}
		a.inFlight++
		p.singles = 0 // the caller is not a waiting client
		return true
	})
}
