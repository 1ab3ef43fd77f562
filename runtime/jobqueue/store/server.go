package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"pinion/runtime/logtext"
)

// Runner runs jobs.
type Runner interface {
	Renderer
	Direct
	// AwaitCapacity blocks until slots are free for jobs that name that version of the model, or ("") none, and returns
	// how many. It returns 0 when ctx ends.
	AwaitCapacity(ctx context.Context, version string) int
	// MeanDuration returns how long predictions ran lately, or 0 if that is not known or the model takes batches.
	MeanDuration(version string) time.Duration
	// AcquireSlot reserves a slot for such a job, which Run uses; nil means none is free.
	AcquireSlot(version string) Slot
	// Run runs a job until it has ended, and returns how. It releases the slot. ctx ends with cause ErrLost where
	// another server has the job; with context.Canceled where a client canceled it; with ErrDraining where this server
	// drains and its grace is over: a status Starting then gives the job back. It calls c.NotifyStart once Follow finds
	// the job.
	Run(ctx context.Context, c *Claim) (Status, []byte)
	// Follow passes the events of a running job, after the first had ones, to send, in order, until it has ended or
	// send returns false. If the run has ended, it may send the end alone.
	Follow(id string, had uint64, send func(Event) bool)
}

// ErrDraining is the cause of the end of a run whose server drains.
var ErrDraining = errors.New("the server is draining")

// Server takes jobs from a queue and has them run.
type Server struct {
	q      *Queue
	runner Runner
	log    *slog.Logger

	subscribing sync.Mutex
	subscribed  bool // guarded by subscribing

	mu      sync.Mutex
	running map[string]*running // by the id's token
	jobs    sync.WaitGroup
}

// running is a job that runs here, or whose claim is being written.
type running struct {
	claim  *Claim
	ctx    context.Context //nolint:containedctx // of the run, which may be canceled before it begins
	cancel context.CancelCauseFunc
}

// Serve returns a server of the queue. The caller runs it.
func (q *Queue) Serve(r Runner, log *slog.Logger) *Server {
	return &Server{q: q, runner: r, log: log, running: map[string]*running{}}
}

// Wait waits for the jobs that run, once every Run has returned. Release ends them.
func (s *Server) Wait() { s.jobs.Wait() }

// Run takes the jobs that name a version of the model until ctx ends; "" means those that name none. It may be called
// for several versions at once.
func (s *Server) Run(ctx context.Context, version string) error {
	if err := s.subscribe(); err != nil {
		return fmt.Errorf("serve the job queue: %w", err)
	}
	p, err := newPuller(ctx, s.q, version)
	if err != nil {
		return fmt.Errorf("serve the job queue: %w", err)
	}
	defer p.close()
	for free := s.awaitCapacity(ctx, p); free > 0; free = s.awaitCapacity(ctx, p) {
		msgs := p.next(ctx, free)
		for _, m := range msgs {
			slot := s.runner.AcquireSlot(version)
			if slot == nil { // a request came first
				_ = m.Nak()
				continue
			}
			s.jobs.Add(1)
			go func() {
				defer s.jobs.Done()
				s.take(m, slot, version)
			}()
		}
		if mean := s.runner.MeanDuration(version); len(msgs) == free && 0 < mean && mean < prefetchBelow {
			p.prefetch()
		}
	}
	return nil
}

// awaitCapacity waits for free slots, and returns how many, or 0 if ctx has ended. Meanwhile the prefetched job waits,
// but not for long: then it is given back, for a server with a free slot.
func (s *Server) awaitCapacity(ctx context.Context, p *puller) int {
	if p.prefetched != nil {
		short, cancel := context.WithTimeout(ctx, prefetchWait)
		free := s.runner.AwaitCapacity(short, p.version)
		cancel()
		if free > 0 {
			return free
		}
		p.releasePrefetched()
	}
	return s.runner.AwaitCapacity(ctx, p.version)
}

// Release ends with ErrDraining the runs in slots for which of returns true; nil means all.
func (s *Server) Release(of func(Slot) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.running {
		if of == nil || of(r.claim.Slot) {
			r.cancel(ErrDraining)
		}
	}
}

// Running returns how many jobs run here.
func (s *Server) Running() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.running)
}

// take claims a delivered job, which names that version, and runs it.
func (s *Server) take(m jetstream.Msg, slot Slot, version string) {
	r, what := s.claim(m, slot)
	if what == mayReconnect {
		slot.Release()
		_ = pause(context.Background(), s.q.reconnectGrace())
		if slot = s.runner.AcquireSlot(version); slot == nil {
			return // it is delivered again
		}
		_ = m.InProgress() // else it could be delivered again before the first heartbeat
		r, what = s.claim(m, slot)
	}
	if what != claimed {
		slot.Release()
		s.log.Debug("a job was not taken", "outcome", string(what))
		return
	}
	s.run(r)
}

// claim decides about a delivered job. It is registered before its claim is written: members that read the claim may
// ask this server at once, and do not ask again soon.
func (s *Server) claim(m jetstream.Msg, slot Slot) (r *running, what outcome) {
	// A body that takes long must not be delivered again meanwhile.
	ctx, cancel := withIdleTimeout(s.q.o.AckWait/2, func() { _ = m.InProgress() })
	defer cancel()
	_, what = s.q.claim(ctx, m, slot, s.runner, func(c *Claim) (undo func()) {
		r = &running{claim: c}
		r.ctx, r.cancel = context.WithCancelCause(context.Background())
		s.register(r)
		return func() { s.unregister(r) }
	})
	return r, what
}

// register lets members find a job.
func (s *Server) register(r *running) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running[token(r.claim.Job.ID)] = r
}

// unregister is the reverse of register. The same job may have been delivered to this server again, and be registered
// again.
func (s *Server) unregister(r *running) {
	r.cancel(nil)
	s.mu.Lock()
	if key := token(r.claim.Job.ID); s.running[key] == r {
		delete(s.running, key)
	}
	s.mu.Unlock()
	r.claim.markBegun() // a member that waits to follow it finds that it is not registered
}

// registered reports whether members find that job.
func (s *Server) registered(r *running) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running[token(r.claim.Job.ID)] == r
}

// run runs a claimed job, with a heartbeat beside it.
func (s *Server) run(r *running) {
	c := r.claim
	s.register(r) // another delivery of the job, which lost, may have been registered in between
	defer s.unregister(r)
	stop := s.startHeartbeat(c, r.cancel)
	status, prediction := s.runner.Run(r.ctx, c)
	c.markBegun()
	s.end(r.ctx, c, status, prediction)
	stop()
}

// startHeartbeat keeps a job until stop is called, and ends the run where the job is lost or canceled. Most jobs end
// before the first heartbeat, so its goroutine starts then.
func (s *Server) startHeartbeat(c *Claim, cancel context.CancelCauseFunc) (stop func()) {
	ctx, end := context.WithCancel(context.Background())
	ended := make(chan struct{})
	timer := time.AfterFunc(s.q.o.AckWait/3, func() {
		defer close(ended)
		s.heartbeat(ctx, c, cancel)
	})
	return func() {
		end()
		if !timer.Stop() {
			<-ended
		}
	}
}

// heartbeat reads the state of a job and keeps the job, again and again, until ctx ends.
func (s *Server) heartbeat(ctx context.Context, c *Claim, cancel context.CancelCauseFunc) {
	absent := 0
	for ctx.Err() == nil {
		beat, done := context.WithTimeout(ctx, s.q.o.AckWait/3)
		result := c.Beat(beat)
		if absent++; !s.q.abandoned(beat, &c.Job) {
			absent = 0
		}
		done()
		if absent == maxAbsent {
			cancel(context.Canceled)
		}
		switch result {
		case Lost:
			cancel(ErrLost)
			return
		case CancelAsked:
			cancel(context.Canceled)
		case Held, Uncertain:
		}
		_ = pause(ctx, s.q.o.AckWait/3)
	}
}

// maxAbsent is at how many heartbeats in a row the member of a waiting client must be gone before its job is canceled:
// it may be reconnecting.
const maxAbsent = 2

// end writes the end of a run, for as long as that takes: the model's work is not thrown away because NATS is gone for
// a while.
func (s *Server) end(ctx context.Context, c *Claim, status Status, prediction []byte) {
	for context.Cause(ctx) != ErrLost { //nolint:errorlint // it is set above, and never wrapped
		try, cancel := WithIdleTimeout(s.q.o.AckWait/3, len(prediction))
		var err error
		if status == Starting {
			err = c.Release(try, prediction)
		} else {
			err = c.End(try, status, prediction)
		}
		cancel()
		switch {
		case err == nil:
			return
		case !errors.Is(err, ErrLost):
			s.q.onNoAnswer()
			s.log.Warn("the end of a job could not be stored; will try again", "prediction_id", logtext.Clip(c.Job.ID), "error",
				err)
			_ = pause(context.Background(), time.Second)
			continue
		}
		break
	}
	s.q.counters.fenced.Add(1)
	s.log.Warn("another server took the job over while it ran: its result is dropped", "prediction_id",
		logtext.Clip(c.Job.ID))
}

// subscribe subscribes to requests of members, once for all ids. It lasts as long as the connection: direct predictions
// outlive the last job.
func (s *Server) subscribe() error {
	s.subscribing.Lock()
	defer s.subscribing.Unlock()
	if s.subscribed {
		return nil
	}
	var subscriptions []*nats.Subscription
	for verb, answer := range map[string]nats.MsgHandler{"held": s.onOwner, "cancel": s.onCancel, "attach": s.onAttach} {
		subscription, err := s.q.nc.Subscribe("pinion."+verb+"."+s.q.o.Model+".*", answered(answer))
		if err != nil {
			for _, sub := range subscriptions {
				_ = sub.Unsubscribe()
			}
			return err
		}
		subscriptions = append(subscriptions, subscription)
	}
	s.subscribed = true
	return nil
}

func (s *Server) onOwner(m *nats.Msg) {
	if l, ok := readLookup(m); ok {
		go s.answerLookup(m, l)
	} else if s.find(m.Subject) != nil {
		_ = m.Respond(nil)
	}
}

func (s *Server) onCancel(m *nats.Msg) {
	if l, ok := readLookup(m); ok {
		if s.runner.CancelDirect(l) {
			_ = m.Respond(nil)
		} else {
			s.respondAbsent(m, l)
		}
	} else if r := s.find(m.Subject); r != nil {
		r.claim.noteCancel(m.Header)
		r.cancel(context.Canceled)
	}
}

func (s *Server) onAttach(m *nats.Msg) {
	if m.Reply == "" {
		return
	}
	if l, ok := readLookup(m); ok {
		go s.followDirect(l, m.Reply, readHad(m))
	} else if r := s.find(m.Subject); r != nil {
		go s.follow(r, m.Reply, readHad(m))
	}
}

// find returns the run that a subject is about, or nil if it does not run here.
func (s *Server) find(subject string) *running {
	last := len(subject)
	for last > 0 && subject[last-1] != '.' {
		last--
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running[subject[last:]]
}
