package slot

import (
	"context"
	"sync"
	"time"

	"pinion/ipc"
	"pinion/runtime/predict"
	"pinion/runtime/trace"
)

// Worker is what a slot needs of the process behind it; supervise implements it. No method blocks for longer than a
// system call.
type Worker interface {
	// Interrupt makes the worker look at its cancel words now.
	Interrupt()
	// Kill ends the worker at once. The fault and the reason become part of its exit's classification.
	Kill(fault Fault, why string)
	// Closed reports that the worker's end of a channel is closed: the worker has died, or must be terminated soon.
	Closed()
	// TakeLogs returns what the model wrote up to these positions of its pipes and was not taken before, in order.
	// prediction is the id of the prediction that wrote it, or "".
	TakeLogs(prediction string, at ipc.LogMark) []Text
	// LogPipe takes over the running prediction's own pipe. After LogPipesEnd, further text from it belongs to no
	// prediction.
	LogPipe(fd int, stderr bool)
	LogPipesEnd()
	// Stuck reports that the thread of a slot does not end what it runs. The worker gets no further call.
	Stuck(why string)
	// Stack returns what the slot of that index runs: the Python stacks of its thread, of its task and of the other
	// threads, with names and lines.
	Stack(ctx context.Context, slot int) (string, error)
	// Logged receives text that came for a prediction through its slot's channel.
	Logged(prediction string, text ipc.Log)
	// LogRecord takes a frame that says which text in the pipes is one record of the server's log.
	LogRecord(f *ipc.Frame) error
}

type Fault uint8

const (
	FaultProtocol      Fault = iota // it sent what the protocol forbids
	FaultCancelTimeout              // a canceled call did not end
	FaultShortage                   // this process lacks descriptors or memory for what it sent
)

type Options struct {
	// Queue is how many calls may wait beyond those that have a slot; 0 means none.
	Queue int
	// QueueTimeout is how long a call may wait before the model has it, at least a second at a free slot; 0 means no
	// limit.
	QueueTimeout time.Duration
	// CancelGrace is how long a canceled call may go on before its worker is killed. Default: 10 s.
	CancelGrace time.Duration
	// PredictTimeout is how long the model may have a call before it is canceled; 0 means no limit.
	PredictTimeout time.Duration
	// BusyPoll says who may busy-poll.
	BusyPoll BusyPoll
	// Tracer traces batches; nil means they are not traced.
	Tracer *trace.Tracer
	// Model names the model in these traces; "" if the server has one model.
	Model string
	// OnBatch receives each batch that ends: its size, and how long its first call was held back for others while a worker
	// was idle. It must not block. It may be nil.
	OnBatch func(size int, held time.Duration)
	// OnCalls receives the descriptor of a socket by which a prediction, or the predictions of a batch, call another
	// model. It takes the descriptor over, and must not block. If nil, models cannot call others.
	OnCalls func(of []*predict.Prediction, fd int)
}

// Pool is all slots of all workers, and the queue before them.
type Pool struct {
	o Options

	// mu guards all that follows, and the private fields of slots and calls. Unexported functions of this package are
	// called with it held, unless their comment says otherwise.
	mu           sync.Mutex
	admission    admission
	batches      dispatcher
	slots        []*Slot
	idle         []*Slot // candidates; some may not be idle any more
	workers      int     // that have slots
	threads      bool    // a worker's slots were threads
	deadlines    deadlines
	packTimer    *time.Timer // checks packed calls; nil if there are none
	limitTimer   *time.Timer // of the runtime limit; nil if nothing runs
	singles      int         // calls in a row that came while no other was in flight
	cpuPressure  cpuPressure // see busypoll.go
	illegalMoves int         // of calls, forbidden by the table; 0 unless there is a bug
}

func NewPool(o Options) *Pool {
	if o.CancelGrace <= 0 {
		o.CancelGrace = 10 * time.Second
	}
	p := &Pool{o: o, admission: admission{limit: o.Queue}}
	p.batches = dispatcher{pool: p, origin: time.Now()}
	return p
}

// locked calls f with the lock held, and sends what f returns without it.
func (p *Pool) locked(f func() deliveries) {
	p.mu.Lock()
	d := f()
	p.mu.Unlock()
	d.deliver()
}

// underLock returns what f returns, called with the lock held.
func underLock[T any](p *Pool, f func() T) T {
	p.mu.Lock()
	defer p.mu.Unlock()
	return f()
}

type Load struct {
	Slots    int // slots of live workers
	Capacity int // calls that they can have: with batches more than one for each slot
	InFlight int // calls admitted and not ended
	Queued   int // calls without a slot
}

// CancelGrace returns how long a canceled call may go on.
func (p *Pool) CancelGrace() time.Duration { return p.o.CancelGrace }

// Queue returns how many calls may wait beyond those that have a slot.
func (p *Pool) Queue() int { return p.o.Queue }

func (p *Pool) Load() Load {
	p.mu.Lock() // without underLock, whose closure would be allocated for each request
	defer p.mu.Unlock()
	a := &p.admission
	return Load{Slots: len(p.slots), Capacity: a.capacity, InFlight: a.inFlight, Queued: a.queue.len}
}

// MeanDuration returns how long the model has had a call lately, at the slot where that took longest; 0 means it is not
// known, or the model takes batches.
func (p *Pool) MeanDuration() (longest time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.slots {
		if s.worker.batching != nil {
			return 0
		}
		longest = max(longest, s.window.mean)
	}
	return longest
}

// QueuePosition returns a call's position among those that the model has not begun, counted from 1, or 0 if it does not
// wait any more.
func (p *Pool) QueuePosition(c *Call) int { return underLock(p, func() int { return p.position(c) }) }

// Admit claims capacity for one call, to be submitted or given back with Withdraw. g is its group, or nil: the first
// call of a group claims capacity for all of them. It returns predict.ErrBusy, *predict.QueueFullError, or what Refuse
// was given.
func (p *Pool) Admit(g *predict.Group) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := &p.admission
	switch {
	case a.refusal != nil:
		return a.refusal
	case g != nil && g.Live > 0: // the group has capacity
	case a.inFlight < a.capacity+a.limit:
		a.inFlight++
		if p.singles++; a.inFlight > 1 {
			p.singles = 0
		}
	case a.limit == 0:
		return predict.ErrBusy
	default:
		return &predict.QueueFullError{RetryAfter: a.retryAfter(p.slots)}
	}
	if g != nil {
		g.Live++
	}
	return nil
}

// Withdraw gives back the capacity of a call that was never submitted; g is its group, or nil.
func (p *Pool) Withdraw(g *predict.Group) {
	p.mu.Lock()
	p.admission.leave(g)
	p.mu.Unlock()
}

// Refuse ends every call that has no slot with err, and admits none from now on. With a nil err the pool admits calls
// again.
func (p *Pool) Refuse(err error) {
	p.locked(func() deliveries {
		p.admission.refusal = err
		p.admission.wake()
		p.endRefused()
		return nil
	})
}

// Submit hands an admitted call to the pool; its owner calls Wait next.
func (p *Pool) Submit(c *Call) {
	now := time.Now()
	p.mu.Lock()
	s := p.enter(c, now)
	if s == nil {
		d := p.batches.dispatch(nil)
		p.mu.Unlock()
		d.deliver()
		return
	}
	d := s.assign(c)
	if s.mayDelay(d) {
		// Under the lock, so that the leader's next flush includes it.
		s.ch.unflushed++
		d.queue()
		p.mu.Unlock()
		return
	}
	p.mu.Unlock()
	d.queue()
	d.flush()
}

// SubmitAll is Submit for several calls at once, so that they can share a batch.
func (p *Pool) SubmitAll(calls []*Call) {
	now := time.Now()
	p.locked(func() (d deliveries) {
		for _, c := range calls {
			if s := p.enter(c, now); s != nil {
				d = append(d, s.assign(c))
			}
		}
		return p.batches.dispatch(d)
	})
}

// enter accepts an admitted call, and returns the slot that gets it, or nil if it is queued or has ended.
func (p *Pool) enter(c *Call, now time.Time) *Slot {
	c.pool, c.since = p, now
	if err := p.reject(c, now); err != nil {
		p.end(c, Result{Err: err})
		return nil
	}
	s := p.choose(c)
	p.setDeadline(c, now, s != nil && s.outstanding == 0) // also where a slot is free: its worker may not take the call
	if s == nil {
		p.enqueue(c, false, now)
	}
	return s
}

// Wait returns when the call has ended. One goroutine calls it, once. Meanwhile it may read the slot's socket for all
// calls that wait there.
func (c *Call) Wait() {
	p := c.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	defer wakes.Put(c.waiter.wake)
	for c.stepDown(); c.state != ended; c.stepDown() {
		if s := c.slot; s != nil && !s.ch.closed {
			if s.ch.leader == nil {
				s.ch.promote(c)
			}
			if s.ch.leader == c {
				s.ch.lead(c)
				continue
			}
			s.ch.follow(c)
		}
		c.waiter.parked = true
		p.mu.Unlock()
		<-c.waiter.wake
		p.mu.Lock()
		c.waiter.parked = false
	}
}

// Cancel cancels a call. If the model has not begun the call, it ends at once; otherwise the worker gets a
// signal, and is killed if the call does not end within Options.CancelGrace.
func (p *Pool) Cancel(c *Call) {
	p.locked(func() deliveries {
		if c.state == ended || c.canceling {
			return nil
		}
		if c.canceling = true; c.state == fresh {
			return nil // Submit was not called yet; it will see the mark
		}
		return p.cancelLocked(c)
	})
}

// finish makes a result final and frees the call's capacity.
func (p *Pool) finish(c *Call, r Result) {
	onSettled := c.OnSettled
	if c.Traced != nil && c.slot != nil {
		c.Traced.ranIn(c)
	}
	switch c.state {
	case queued:
		p.dequeue(c)
	case assigned:
		if onSettled != nil && c.slot.batches.items[c.id] == c {
			c.slot.batches.onAnswered[c.id] = onSettled
			onSettled = nil
		}
		c.slot.unassign(c)
	}
	if !c.moveTo(ended) {
		return
	}
	if onSettled != nil {
		onSettled()
	}
	r.Logs = c.logs.take()
	r.Resent = c.resent
	r.Canceled = c.canceling && !c.overLimit
	c.Result = c.withLimit(r)
	p.admission.leave(c.Group)
	if c.graceTimer != nil {
		c.graceTimer.Stop()
	}
}

// end finishes a call and wakes its goroutine.
func (p *Pool) end(c *Call, r Result) {
	s := c.slot
	p.finish(c, r)
	if s != nil {
		s.ch.demote(c)
	}
	if c.waiter.parked {
		c.wake()
	}
}
