package store

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

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Claim is a job that this server owns. Its methods are called by one goroutine at a time, except Beat.
type Claim struct {
	Job   Job
	State State // as it was when it was claimed
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

	q          *Queue
	m          jetstream.Msg
	renderer   Renderer
	revision   uint64                 // of State
	withCancel atomic.Pointer[stored] // the same with Cancel set, once this server was told; nil means it was not
	begun      chan struct{}          // closed when the job can be followed, or does not run
	hasBegun   bool                   // begun is closed
}

// markBegun wakes those that wait to follow the job.
func (c *Claim) markBegun() {
	if !c.hasBegun {
		c.hasBegun = true
		close(c.begun)
	}
}

// outcome is what became of a delivery that was not claimed.
type outcome string

const (
	claimed   outcome = "claimed"
	settled   outcome = "settled"   // it has ended; its message is gone
	elsewhere outcome = "elsewhere" // another server has it, whose heartbeat keeps its message
	orphaned  outcome = "orphaned"  // no state is known for it; it is a dead letter
	deferred  outcome = "deferred"  // NATS did not answer; it is delivered again
	changed   outcome = "changed"   // its state has changed meanwhile; the next read decides
	// its owner may be about to connect again, as this server just did; see reconnectGrace
	mayReconnect outcome = "reconnecting"
)

// noMemoryDelay is the delay after which a job is delivered again if its body does not fit into this server's memory
// budget.
const noMemoryDelay = time.Second

// waiterCheckAge is the age up to which a job starts without a check of its waiter: a server that waited for it got it
// sooner. The heartbeats check it later.
const waiterCheckAge = 50 * time.Millisecond

// ownerTimeout is how long the owner of a job may take to answer.
const ownerTimeout = 2 * time.Second

// delivery is a job that was delivered and is to be claimed.
type delivery struct {
	q         *Queue
	m         jetstream.Msg
	slot      Slot
	renderer  Renderer
	register  func(*Claim) (undo func())
	job       Job
	seq       uint64 // of its message
	published time.Time
	charged   int64 // bytes of the memory budget for its body
	loaded    bool  // it has its body
}

// claim decides about a delivered job. Only what is claimed may run. renderer makes the object that clients see of a
// state that is given up or begins. register, unless it is nil, is called before a claim is written, and undo if it was
// not written.
func (q *Queue) claim(ctx context.Context, m jetstream.Msg, slot Slot, renderer Renderer,
	register func(*Claim) (undo func()),
) (c *Claim, what outcome) {
	if register == nil {
		register = func(*Claim) func() { return func() {} }
	}
	job, err := readJob(m.Headers(), m.Data())
	meta, metaErr := m.Metadata()
	if err != nil || metaErr != nil {
		return nil, q.orphan(ctx, m, job.ID, "it cannot be read")
	}
	job.Deadline = q.fromNATS(ctx, job.Deadline)
	d := &delivery{
		q: q, m: m, slot: slot, renderer: renderer, register: register, job: job, seq: meta.Sequence.Stream,
		published: meta.Timestamp,
	}
	defer func() {
		if c == nil {
			q.free(d.charged)
		}
	}()
	now, attached := q.attachedState(m.Headers())
	attached = attached && meta.NumDelivered == 1
	for ; ; attached = false {
		if !attached {
			switch now, err = q.read(ctx, d.job.ID); {
			case errors.Is(err, errUnreadable): // it would be delivered again forever
				return nil, q.orphan(ctx, m, d.job.ID, "its state cannot be read")
			case err != nil:
				return nil, deferred
			}
		}
		if c, what = d.claim(ctx, now); what != changed {
			return c, what
		}
	}
}

// claim claims the job if its state is still now.
func (d *delivery) claim(ctx context.Context, now stored) (*Claim, outcome) {
	q := d.q
	switch {
	case now.Status == "", now.Job != d.job.token:
		if id := d.wholeID(); id != d.job.ID {
			d.job.ID = id
			return nil, changed
		}
		return nil, q.orphan(ctx, d.m, d.job.ID, "no state is known for it")
	case now.Status.Ended():
		return nil, q.settle(ctx, d.m, d.job.ID, &now.State)
	case now.Seq != 0 && now.Seq != d.seq:
		_ = d.m.Ack() // a copy: the id was published again
		return nil, settled
	}
	next := now.State
	if now.Status == Processing {
		if q.reconnectGrace() > 0 {
			return nil, mayReconnect
		}
		if q.ownerAlive(ctx, d.job.ID) {
			return nil, elsewhere
		}
		next.Lost++
	}
	if now.Status == Starting && !now.Cancel && q.clock.now().Sub(d.published) > waiterCheckAge &&
		q.abandoned(ctx, &d.job) {
		next.Cancel = true
	}
	if reason, status := overdue(&d.job, &next); status != "" {
		return nil, d.giveUp(ctx, now, next, status, reason)
	}
	switch err := d.load(ctx); {
	case errors.Is(err, jetstream.ErrObjectNotFound):
		return nil, d.giveUp(ctx, now, next, Failed, "the prediction's body is no longer stored")
	case errors.Is(err, errNoMemory):
		_ = d.m.NakWithDelay(noMemoryDelay)
		return nil, deferred
	case err != nil:
		return nil, deferred // NATS did not answer, or another server has the key
	}
	next.Status, next.Attempt, next.Server, next.Claim, next.Seq = Processing, next.Attempt+1, q.o.Server, rand.Text(),
		d.seq
	next.ModelVersion = d.slot.Version()
	next.Prediction = d.renderer.RenderStarted(&d.job, &next)
	c := &Claim{
		Job: d.job, State: next, Slot: d.slot, Charged: d.charged, q: q, m: d.m, renderer: d.renderer,
		begun: make(chan struct{}),
	}
	undo := d.register(c)
	var err error
	c.revision, _, err = q.swap(ctx, d.job.ID, now, &next, func(s *State) bool { return s.Claim == next.Claim })
	switch {
	case err == nil:
		q.observe(&next, d.published, now.Status)
		return c, claimed
	case errors.Is(err, errConflict):
		undo()
		return nil, changed
	}
	undo()
	return nil, deferred
}

// wholeID returns the job's id as its state has it. A server that does not escape headers wrote it without the spaces
// at its ends.
func (d *delivery) wholeID() string {
	s, ok := d.q.attachedState(d.m.Headers())
	var object struct{ ID string }
	if !ok || json.Unmarshal(s.Prediction, &object) != nil || strings.TrimSpace(object.ID) != d.job.ID {
		return d.job.ID
	}
	return object.ID
}

// load loads the job's body, once.
func (d *delivery) load(ctx context.Context) (err error) {
	if !d.loaded {
		d.charged, err = d.q.loadBody(ctx, d.m, &d.job)
		d.loaded = err == nil
	}
	return err
}

// observe counts a claim.
func (q *Queue) observe(s *State, accepted time.Time, before Status) {
	if before == Processing {
		q.counters.redelivered.Add(1)
	}
	if s.Attempt == 1 && q.o.OnWait != nil {
		q.o.OnWait(max(0, q.clock.now().Sub(accepted)))
	}
}

// Renderer makes the object that clients see.
type Renderer interface {
	// RenderStarted returns the object of a job that begins to run.
	RenderStarted(*Job, *State) json.RawMessage
	// RenderEnded returns the object of a job that ended without a run, with that status and error.
	RenderEnded(*Job, *State, Status, string) json.RawMessage
}

// PastDeadline is the error of a job whose deadline passed before it ran.
const PastDeadline = "the deadline passed while the prediction waited"

// overdue says why a job ends without another run, and how; "" means it may run.
func overdue(j *Job, s *State) (reason string, end Status) {
	switch {
	case s.Cancel:
		return "", Canceled
	case !j.Deadline.IsZero() && time.Now().After(j.Deadline):
		return PastDeadline, Failed
	case s.Lost >= j.Attempts:
		if s.Lost == 1 {
			return "gave up after 1 attempt: the server that ran it was lost", Failed
		}
		return fmt.Sprintf("gave up after %d attempts: each time the server that ran it was lost", s.Lost), Failed
	}
	return "", ""
}

// giveUp ends a job that no server runs any more. A job that was lost too often becomes a dead letter first: otherwise
// it would be gone if this server were lost in between.
func (d *delivery) giveUp(ctx context.Context, now stored, next State, status Status, reason string) outcome {
	q, id := d.q, d.job.ID
	if next.Lost >= d.job.Attempts && status == Failed {
		if q.deadLetter(ctx, d.m, id, next.Hook, reason) != nil {
			return settled // it is delivered again
		}
	}
	next.Status, next.Claim, next.Server = status, rand.Text(), ""
	next.Prediction = d.renderer.RenderEnded(&d.job, &next, status, reason)
	_, _, err := q.swap(ctx, id, now, &next, func(s *State) bool { return s.Claim == next.Claim })
	switch {
	case err == nil:
		(&Claim{Job: d.job, q: q}).notify(nil)
		q.settle(ctx, d.m, id, &next)
	case errors.Is(err, errConflict):
		return changed
	}
	return settled
}

// settle publishes the end of a job, and then acknowledges its message: in this order, so that a server that is lost in
// between leaves a message that is delivered again.
func (q *Queue) settle(ctx context.Context, m jetstream.Msg, id string, s *State) outcome {
	if q.hook(ctx, id, s) != nil {
		return deferred
	}
	if m.Ack() != nil { // if it does not arrive, the message is delivered and acknowledged again
		return deferred
	}
	// else its dead letter has it
	if attempts, _ := strconv.Atoi(m.Headers().Get(headerAttempts)); s.Status != Failed || s.Lost < attempts {
		q.dropBody(m.Headers())
	}
	return settled
}

// hook stores the webhook of a job's end. The job's token is the message's id: however often it is stored, it is sent
// once in two minutes.
func (q *Queue) hook(ctx context.Context, id string, s *State) error {
	if s.Hook == nil {
		return nil
	}
	m := nats.NewMsg("pinion.hook." + q.o.Model + "." + token(id))
	set(m.Header, headerToken, s.Job)
	set(m.Header, headerID, id)
	q.setHook(m.Header, s.Hook)
	m.Data = q.o.Keys.seal(sealHook, s.Prediction) // an object is read when it is posted
	if _, err := q.insert(ctx, m); err != nil {
		return fmt.Errorf("store a webhook: %w", err)
	}
	return nil
}

// orphan makes a dead letter of a message without a state.
func (q *Queue) orphan(ctx context.Context, m jetstream.Msg, id, reason string) outcome {
	if q.deadLetter(ctx, m, id, nil, "orphan: "+reason) != nil || m.DoubleAck(ctx) != nil {
		return deferred
	}
	return orphaned
}
