package slot

import (
	"sync"
	"time"

	"pinion/ipc"
	"pinion/runtime/batch"
	"pinion/runtime/predict"
)

// Worker is what a slot needs of the process behind it. supervise has the real one. No method
// blocks for longer than a system call.
type Worker interface {
	// Interrupt makes the worker look at its cancel words now.
	Interrupt()
	// Kill ends the worker at once; the fault and why go into the judgement of its exit.
	Kill(fault Fault, why string)
	// Closed says that the worker's end of a channel is closed: it has died, or is to be ended soon.
	Closed()
	// TakeLogs returns what the model wrote up to these positions of its pipes and was not
	// taken before, in order; prediction is whose it is, or "".
	TakeLogs(prediction string, at LogPositions) []Text
	// LogPipe takes over a pipe that the running prediction has to itself. LogPipesEnd says that what else
	// comes through it is nobody's.
	LogPipe(fd int, stderr bool)
	LogPipesEnd()
	// Logged is told of text that came for a prediction through its slot's channel.
	Logged(stream, prediction string, text []byte)
}

// Fault is what a worker is ended for.
type Fault uint8

const (
	FaultProtocol Fault = iota // what it says cannot be used
	FaultStubborn              // a cancelled call did not end
)

// Options of a pool.
type Options struct {
	// Queue is how many calls may wait beyond those that have a slot; 0: none.
	Queue int
	// QueueTimeout is how long a call may wait before the model has it, at a free slot a second at least; 0: for ever.
	QueueTimeout time.Duration
	// CancelGrace is how long a cancelled call may go on before its worker is killed. Default 10 s.
	CancelGrace time.Duration
	// PredictTimeout is how long the model may have a call; 0: for ever. It is then cancelled.
	PredictTimeout time.Duration
	// Spin says who may keep a core busy for a moment to spare a short call a wake-up.
	Spin Spin
	// OnBatch is told of the end of each batch: its size, and for how long the first of it was held back for others
	// though a worker was idle. It must not block. Nil: nobody is told.
	OnBatch func(size int, held time.Duration)
}

// Pool is all slots of all workers, and the queue before them.
type Pool struct {
	o Options

	mu       sync.Mutex
	slots    []*Slot
	idle     []*Slot // candidates: may hold slots that are idle no more
	queue    list
	inflight int // admitted and not ended
	stopped  error
	crews    int // workers with slots
	meter    meter
	timer    *time.Timer // fires for the first deadline; nil while there is none
	timerAt  time.Time
	looking  *time.Timer // see overtime.go; nil while nothing runs
	places   int         // calls that the slots can have
	lone     int         // calls in a row that came when there was no other
	strain   strain      // see spin.go

	// Of calls that ride together; see batch.go.
	batched int                   // workers with slots whose calls do
	line    *batch.Batcher[*Call] // nil: there never was such a worker, or it prepares each first
	lineOf  batch.Options
	clock   *clock
	origin  time.Time            // of the lines' time
	riding  []*batch.Item[*Call] // scratch of form
}

// NewPool makes a pool without slots.
func NewPool(o Options) *Pool {
	if o.CancelGrace <= 0 {
		o.CancelGrace = 10 * time.Second
	}
	return &Pool{o: o, origin: time.Now()}
}

// Load is how much of a pool is taken.
type Load struct {
	Slots    int // slots of live workers
	Places   int // calls that they can have: more than one each where calls ride together
	InFlight int // calls admitted and not ended
	Queued   int // calls without a slot
}

// Queue is how many calls may wait beyond those that have a slot.
func (p *Pool) Queue() int { return p.o.Queue }

// Load tells how much of the pool is taken.
func (p *Pool) Load() Load {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Load{Slots: len(p.slots), Places: p.places, InFlight: p.inflight, Queued: p.queue.len}
}

// Admit claims a place for one call, to be submitted or given back with Leave. It returns
// predict.ErrBusy, *predict.QueueFullError, or what Refuse was given.
func (p *Pool) Admit() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.stopped != nil:
		return p.stopped
	case p.inflight < p.places+p.o.Queue:
		p.inflight++
		if p.lone++; p.inflight > 1 {
			p.lone = 0
		}
		return nil
	case p.o.Queue == 0:
		return predict.ErrBusy
	default:
		return &predict.QueueFullError{RetryAfter: p.drainTime()}
	}
}

// Leave gives back the place of a call that was never submitted.
func (p *Pool) Leave() {
	p.mu.Lock()
	p.inflight--
	p.mu.Unlock()
}

// Submit hands an admitted call over; its owner calls Wait next.
func (p *Pool) Submit(c *Call) {
	now := time.Now()
	p.mu.Lock()
	c.pool, c.since = p, now
	if err := p.stopped; err != nil || c.canceling {
		if c.canceling {
			err = ErrCanceled
		}
		p.end(c, Result{Err: err})
		p.mu.Unlock()
		return
	}
	if !c.Deadline.IsZero() && !c.Deadline.After(now) {
		p.end(c, Result{Err: predict.ErrQueueTimeout})
		p.mu.Unlock()
		return
	}
	s := p.choose()
	p.setDeadline(c, now, s != nil && s.count == 0) // also where a slot is free: its worker may not take the call
	if s == nil {
		p.enter(c, false, now)
		d := p.form(nil)
		p.mu.Unlock()
		d.deliver()
		return
	}
	d := s.assign(c)
	if s.flows(d) {
		// Under the lock, so that the leader's next flush cannot miss it.
		s.held++
		d.queue()
		p.mu.Unlock()
		return
	}
	p.mu.Unlock()
	d.queue()
	d.flush()
}

// Wait carries the call through and returns when it has ended. One goroutine calls it, once: while
// it waits it may read the slot's socket for all others that wait there.
func (c *Call) Wait() {
	p := c.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	defer wakes.Put(c.wake)
	for c.resign(); c.state != ended; c.resign() {
		if s := c.slot; s != nil && !s.lost {
			if s.leader == nil {
				s.appoint(c)
			}
			if s.leader == c {
				s.lead(c)
				continue
			}
			s.follow(c)
		}
		c.parked = true
		p.mu.Unlock()
		<-c.wake
		p.mu.Lock()
		c.parked = false
	}
}

// settle makes a result final and frees the call's place. Called with the lock held.
func (p *Pool) settle(c *Call, r Result) {
	gone := c.Gone
	switch c.state {
	case queued:
		p.unqueue(c)
	case assigned:
		if gone != nil && c.slot.riders[c.id] == c {
			c.slot.keep(c.id, gone)
			gone = nil
		}
		c.slot.release(c)
	}
	if gone != nil {
		gone()
	}
	c.state = ended
	r.Logs = c.takeLogs()
	r.Moved = c.moved
	r.Canceled = c.canceling && !c.overtime
	r = c.timedOut(r)
	c.Result = r
	p.inflight--
	if c.grace != nil {
		c.grace.Stop()
	}
}

// end settles a call and tells its goroutine, wherever that waits. Called with the lock held.
func (p *Pool) end(c *Call, r Result) {
	s := c.slot
	p.settle(c, r)
	if s != nil {
		s.recall(c)
	}
	if c.parked {
		c.poke()
	}
}

// Cancel asks for the end of a call: at once where the model has not begun it, by signal where it
// has, by the worker's end where that does not help within the grace.
func (p *Pool) Cancel(c *Call) {
	p.mu.Lock()
	if c.state == ended || c.canceling {
		p.mu.Unlock()
		return
	}
	c.canceling = true
	if c.state == fresh { // Submit has not come yet; it finds the mark
		p.mu.Unlock()
		return
	}
	d := p.cancelLocked(c)
	p.mu.Unlock()
	d.deliver()
}

// cancelLocked cancels a call that is queued or assigned.
func (p *Pool) cancelLocked(c *Call) deliveries {
	if c.state == queued {
		p.end(c, Result{Err: ErrCanceled})
		return p.form(nil) // others may have waited for it
	}
	if c.slot.lost {
		return nil // Detach finds the mark
	}
	s := c.slot
	if s.crew.batch != nil && s.riders[c.id] == c {
		return p.cancelRider(c)
	}
	if s.words.Revoke(c.id) {
		p.end(c, Result{Err: ErrCanceled})
		return s.refill(nil)
	}
	p.press(c, time.Now().Add(p.o.CancelGrace))
	return nil
}

// pressEvery is the time between two signals to a call that does not end: one of them interrupts what C code waits for,
// which may then wait for the next thing.
const pressEvery = 100 * time.Millisecond

// lastChance is how long before its worker is killed the model of a cancelled call gets the exception once more. Until
// then it has had it once, and may be cleaning up.
func (p *Pool) lastChance() time.Duration { return min(p.o.CancelGrace/4, 2*time.Second) }

// press signals a running call, again and again, until it ends or the grace is over.
func (p *Pool) press(c *Call, until time.Time) {
	s, id := c.slot, c.id
	if c.ride != nil {
		c.ride.cut = true
	}
	s.words.SetCancel(c.target(), time.Until(until) <= p.lastChance())
	s.worker.Interrupt()
	c.grace = time.AfterFunc(min(pressEvery, p.lastChance()), func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		switch {
		case c.state != assigned || c.slot != s || c.id != id || s.lost:
		case time.Now().Before(until):
			p.press(c, until)
		default:
			s.worker.Kill(FaultStubborn, "a cancelled prediction did not end within "+p.o.CancelGrace.String())
		}
	})
}

// Refuse ends every call that has no slot with err, and lets none in any more. nil opens again.
func (p *Pool) Refuse(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = err
	for err != nil && p.queue.head != nil {
		p.end(p.queue.head, Result{Err: err})
	}
}

// Attach adds a worker's slots, one a connection, and gives them what waits. b says how its calls ride together;
// nil: they do not.
func (p *Pool) Attach(w Worker, conns []*ipc.Conn, page *ipc.Page, a Alarms, b *Batch) []*Slot {
	p.mu.Lock()
	p.willBatch(b)
	added := make([]*Slot, len(conns))
	for i, conn := range conns {
		added[i] = newSlot(p, w, conn, page.Slot(i))
		p.slots = append(p.slots, added[i])
	}
	newCrew(added, a, b)
	p.crews++
	p.places += len(added) * b.places()
	var d deliveries
	for i := len(added) - 1; i >= 0; i-- {
		d = added[i].refill(d)
	}
	p.mu.Unlock()
	d.deliver()
	return added
}
