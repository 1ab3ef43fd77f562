package consume

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"pinion/runtime/jobqueue/store/state"
)

// Claim is a job that this server owns. Its methods are called by one goroutine at a time, except Beat.
type Claim struct {
	Job   state.Job
	State state.State // as it was when it was claimed
	// Slot is the one that the job runs in.
	Slot Slot
	// Charged is how many bytes of the memory budget are charged for Job.Body. Runner.Run frees them.
	Charged int64
	// BeforeWebhook, if set, is called between the end of the job and its webhook: what comes before that is delivered
	// first.
	BeforeWebhook func()
	// Yielded means that the model yielded the items of the output.
	Yielded bool
	// RedeliverAfter is after how long a released job is delivered again; 0 means at once.
	RedeliverAfter time.Duration

	Q          *Consumer
	M          jetstream.Msg
	renderer   state.Renderer
	revision   uint64                       // of State
	withCancel atomic.Pointer[state.Stored] // the same with Cancel set, once this server was told; nil means it was not
	Begun      chan struct{}                // closed when the job can be followed, or does not run
	hasBegun   bool                         // begun is closed
}

// markBegun wakes those that wait to follow the job.
func (c *Claim) markBegun() {
	if !c.hasBegun {
		c.hasBegun = true
		close(c.Begun)
	}
}

// Outcome is what became of a delivery that was not claimed.
type Outcome string

const (
	Claimed   Outcome = "claimed"
	Settled   Outcome = "settled"   // it has ended; its message is gone
	Elsewhere Outcome = "elsewhere" // another server has it, whose heartbeat keeps its message
	Orphaned  Outcome = "orphaned"  // no state is known for it; it is a dead letter
	Deferred  Outcome = "deferred"  // NATS did not answer; it is delivered again
	changed   Outcome = "changed"   // its state has changed meanwhile; the next read decides
	// its owner may be about to connect again, as this server just did; see reconnectGrace
	MayReconnect Outcome = "reconnecting"
)

// noMemoryDelay is the delay after which a job is delivered again if its body does not fit into this server's memory
// budget.
const noMemoryDelay = time.Second

// WaiterCheckAge is the age up to which a job starts without a check of its waiter: a server that waited for it got it
// sooner. The heartbeats check it later.
const WaiterCheckAge = 50 * time.Millisecond

// delivery is a job that was delivered and is to be claimed.
type delivery struct {
	q         *Consumer
	m         jetstream.Msg
	slot      Slot
	renderer  state.Renderer
	register  func(*Claim) (undo func())
	job       state.Job
	seq       uint64 // of its message
	published time.Time
	charged   int64 // bytes of the memory budget for its body
	loaded    bool  // it has its body
}

// Claim decides about a delivered job. Only what is claimed may run. renderer makes the object that clients see of a
// state that is given up or begins. register, unless it is nil, is called before a claim is written, and undo if it was
// not written.
func (q *Consumer) Claim(ctx context.Context, m jetstream.Msg, slot Slot, renderer state.Renderer,
	register func(*Claim) (undo func()),
) (c *Claim, what Outcome) {
	if register == nil {
		register = func(*Claim) func() { return func() {} }
	}
	job, err := state.ReadJob(m.Headers(), m.Data())
	meta, metaErr := m.Metadata()
	if err != nil || metaErr != nil {
		return nil, q.orphan(ctx, m, job.ID, "it cannot be read")
	}
	job.Deadline = q.s.FromNATS(ctx, job.Deadline)
	d := &delivery{
		q: q, m: m, slot: slot, renderer: renderer, register: register, job: job, seq: meta.Sequence.Stream,
		published: meta.Timestamp,
	}
	defer func() {
		if c == nil {
			q.s.Objects.Free(d.charged)
		}
	}()
	now, attached := q.s.AttachedState(m.Headers())
	attached = attached && meta.NumDelivered == 1
	for ; ; attached = false {
		if !attached {
			switch now, err = q.s.Read(ctx, d.job.ID); {
			case errors.Is(err, state.ErrUnreadable): // it would be delivered again forever
				return nil, q.orphan(ctx, m, d.job.ID, "its state cannot be read")
			case err != nil:
				return nil, Deferred
			}
		}
		if c, what = d.claim(ctx, now); what != changed {
			return c, what
		}
	}
}

// claim claims the job if its state is still now.
func (d *delivery) claim(ctx context.Context, now state.Stored) (*Claim, Outcome) {
	q := d.q
	switch {
	case now.Status == "", now.Job != d.job.Token:
		if id := d.wholeID(); id != d.job.ID {
			d.job.ID = id
			return nil, changed
		}
		return nil, q.orphan(ctx, d.m, d.job.ID, "no state is known for it")
	case now.Status.Ended():
		return nil, q.settle(ctx, d.m, d.job.ID, &now.State)
	case now.Seq != 0 && now.Seq != d.seq:
		_ = d.m.Ack() // a copy: the id was published again
		return nil, Settled
	}
	next := now.State
	if now.Status == state.Processing {
		if q.live.ReconnectGrace() > 0 {
			return nil, MayReconnect
		}
		if q.live.OwnerAlive(ctx, d.job.ID) {
			return nil, Elsewhere
		}
		next.Lost++
	}
	if now.Status == state.Starting && !now.Cancel && q.s.Clock.Now().Sub(d.published) > WaiterCheckAge &&
		q.Abandoned(ctx, &d.job) {
		next.Cancel = true
	}
	if reason, status := overdue(&d.job, &next); status != "" {
		return nil, d.giveUp(ctx, now, next, status, reason)
	}
	switch err := d.load(ctx); {
	case errors.Is(err, jetstream.ErrObjectNotFound):
		return nil, d.giveUp(ctx, now, next, state.Failed, "the prediction's body is no longer stored")
	case errors.Is(err, state.ErrNoMemory):
		_ = d.m.NakWithDelay(noMemoryDelay)
		return nil, Deferred
	case err != nil:
		return nil, Deferred // NATS did not answer, or another server has the key
	}
	next.Status, next.Attempt, next.Server, next.Claim, next.Seq = state.Processing, next.Attempt+1,
		q.s.Options.Server, rand.Text(),
		d.seq
	next.ModelVersion = d.slot.Version()
	next.Prediction = d.renderer.RenderStarted(&d.job, &next)
	c := &Claim{
		Job: d.job, State: next, Slot: d.slot, Charged: d.charged, Q: q, M: d.m, renderer: d.renderer,
		Begun: make(chan struct{}),
	}
	undo := d.register(c)
	var err error
	c.revision, _, err = q.s.Swap(ctx, d.job.ID, now, &next, func(s *state.State) bool { return s.Claim == next.Claim })
	switch {
	case err == nil:
		q.observe(&next, d.published, now.Status)
		return c, Claimed
	case errors.Is(err, state.ErrConflict):
		undo()
		return nil, changed
	}
	undo()
	return nil, Deferred
}

// wholeID returns the job's id as its state has it. A server that does not escape headers wrote it without the spaces
// at its ends.
func (d *delivery) wholeID() string {
	s, ok := d.q.s.AttachedState(d.m.Headers())
	var object struct{ ID string }
	if !ok || json.Unmarshal(s.Prediction, &object) != nil || strings.TrimSpace(object.ID) != d.job.ID {
		return d.job.ID
	}
	return object.ID
}

// load loads the job's body, once.
func (d *delivery) load(ctx context.Context) (err error) {
	if !d.loaded {
		d.charged, err = d.q.s.Objects.LoadBody(ctx, d.m, &d.job)
		d.loaded = err == nil
	}
	return err
}

// observe counts a claim.
func (q *Consumer) observe(s *state.State, accepted time.Time, before state.Status) {
	if before == state.Processing {
		q.counters.redelivered.Add(1)
	}
	if s.Attempt == 1 && q.s.Options.OnWait != nil {
		q.s.Options.OnWait(max(0, q.s.Clock.Now().Sub(accepted)))
	}
}

// overdue says why a job ends without another run, and how; "" means it may run.
func overdue(j *state.Job, s *state.State) (reason string, end state.Status) {
	switch {
	case s.Cancel:
		return "", state.Canceled
	case !j.Deadline.IsZero() && time.Now().After(j.Deadline):
		return state.PastDeadline, state.Failed
	case s.Lost >= j.Attempts:
		if s.Lost == 1 {
			return "gave up after 1 attempt: the server that ran it was lost", state.Failed
		}
		return fmt.Sprintf("gave up after %d attempts: each time the server that ran it was lost", s.Lost), state.Failed
	}
	return "", ""
}

// giveUp ends a job that no server runs any more. A job that was lost too often becomes a dead letter first: otherwise
// it would be gone if this server were lost in between.
func (d *delivery) giveUp(ctx context.Context, now state.Stored, next state.State, status state.Status, reason string) Outcome {
	q, id := d.q, d.job.ID
	if next.Lost >= d.job.Attempts && status == state.Failed {
		if q.deadLetter(ctx, d.m, id, next.Hook, reason) != nil {
			return Settled // it is delivered again
		}
	}
	next.Status, next.Claim, next.Server = status, rand.Text(), ""
	next.Prediction = d.renderer.RenderEnded(&d.job, &next, status, reason)
	_, _, err := q.s.Swap(ctx, id, now, &next, func(s *state.State) bool { return s.Claim == next.Claim })
	switch {
	case err == nil:
		(&Claim{Job: d.job, Q: q}).Notify(nil)
		q.settle(ctx, d.m, id, &next)
	case errors.Is(err, state.ErrConflict):
		return changed
	}
	return Settled
}

// settle publishes the end of a job, and then acknowledges its message: in this order, so that a server that is lost in
// between leaves a message that is delivered again.
func (q *Consumer) settle(ctx context.Context, m jetstream.Msg, id string, s *state.State) Outcome {
	if q.s.Hook(ctx, id, s) != nil {
		return Deferred
	}
	if m.Ack() != nil { // if it does not arrive, the message is delivered and acknowledged again
		return Deferred
	}
	// else its dead letter has it
	if attempts, _ := strconv.Atoi(m.Headers().Get(state.HeaderAttempts)); s.Status != state.Failed || s.Lost < attempts {
		q.s.Objects.DropBody(m.Headers())
	}
	return Settled
}

// orphan makes a dead letter of a message without a state.
func (q *Consumer) orphan(ctx context.Context, m jetstream.Msg, id, reason string) Outcome {
	if q.deadLetter(ctx, m, id, nil, "orphan: "+reason) != nil || m.DoubleAck(ctx) != nil {
		return Deferred
	}
	return Orphaned
}

// Stats counts what happened to jobs in this process.
type Stats struct {
	Redelivered uint64 // jobs that this server took because their server was lost
	Dead        uint64 // jobs that it made dead letters
	Fenced      uint64 // runs whose job another server had taken
}

// Counters are the counters of Stats.
type Counters struct{ redelivered, dead, fenced atomic.Uint64 }

// Stats returns the counts since the start.
func (q *Consumer) Stats() Stats {
	return Stats{q.counters.redelivered.Load(), q.counters.dead.Load(), q.counters.fenced.Load()}
}
