package consume

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"pinion/runtime/jobqueue/store/live"
	"pinion/runtime/jobqueue/store/state"
	"pinion/runtime/logtext"
)

// Consumer takes what waits in a queue: its jobs, and the webhooks of those that have ended.
type Consumer struct {
	s        *state.Store
	live     *live.Live
	counters Counters
}

// New returns a consumer of a queue.
func New(s *state.Store, l *live.Live) *Consumer { return &Consumer{s: s, live: l} }

// Runner runs jobs.
type Runner interface {
	state.Renderer
	live.Direct
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
	Run(ctx context.Context, c *Claim) (state.Status, []byte)
	// Follow passes the events of a running job, after the first had ones, to send, in order, until it has ended or
	// send returns false. If the run has ended, it may send the end alone.
	Follow(id string, had uint64, send func(live.Event) bool)
}

// ErrDraining is the cause of the end of a run whose server drains.
var ErrDraining = errors.New("the server is draining")

// Server takes jobs from a queue and has them run.
type Server struct {
	q      *Consumer
	runner Runner
	log    *slog.Logger

	subscribing sync.Mutex
	subscribed  bool // guarded by subscribing

	mu      sync.Mutex
	running map[string]*Running // by the id's token
	jobs    sync.WaitGroup
}

// Running is a job that runs here, or whose claim is being written.
type Running struct {
	Claim  *Claim
	ctx    context.Context //nolint:containedctx // of the run, which may be canceled before it begins
	Cancel context.CancelCauseFunc
}

// Serve returns a server of the queue. The caller runs it.
func (q *Consumer) Serve(r Runner, log *slog.Logger) *Server {
	return &Server{q: q, runner: r, log: log, running: map[string]*Running{}}
}

// Wait waits for the jobs that run, once every Run has returned. Release ends them.
func (s *Server) Wait() { s.jobs.Wait() }

// Run takes the jobs that name a version of the model until ctx ends; "" means those that name none. It may be called
// for several versions at once.
func (s *Server) Run(ctx context.Context, version string) error {
	if err := s.subscribe(); err != nil {
		return fmt.Errorf("serve the job queue: %w", err)
	}
	p, err := NewPuller(ctx, s.q, version)
	if err != nil {
		return fmt.Errorf("serve the job queue: %w", err)
	}
	defer p.Close()
	for free := s.awaitCapacity(ctx, p); free > 0; free = s.awaitCapacity(ctx, p) {
		msgs := p.Next(ctx, free)
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
			p.Prefetch()
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
		if of == nil || of(r.Claim.Slot) {
			r.Cancel(ErrDraining)
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
	if what == MayReconnect {
		slot.Release()
		_ = state.Pause(context.Background(), s.q.live.ReconnectGrace())
		if slot = s.runner.AcquireSlot(version); slot == nil {
			return // it is delivered again
		}
		_ = m.InProgress() // else it could be delivered again before the first heartbeat
		r, what = s.claim(m, slot)
	}
	if what != Claimed {
		slot.Release()
		s.log.Debug("a job was not taken", "outcome", string(what))
		return
	}
	s.run(r)
}

// claim decides about a delivered job. It is registered before its claim is written: members that read the claim may
// ask this server at once, and do not ask again soon.
func (s *Server) claim(m jetstream.Msg, slot Slot) (r *Running, what Outcome) {
	// A body that takes long must not be delivered again meanwhile.
	ctx, cancel := state.WithProgress(s.q.s.Options.AckWait/2, func() { _ = m.InProgress() })
	defer cancel()
	_, what = s.q.Claim(ctx, m, slot, s.runner, func(c *Claim) (undo func()) {
		r = &Running{Claim: c}
		r.ctx, r.Cancel = context.WithCancelCause(context.Background())
		s.Register(r)
		return func() { s.Unregister(r) }
	})
	return r, what
}

// Register lets members find a job.
func (s *Server) Register(r *Running) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running[state.Token(r.Claim.Job.ID)] = r
}

// Unregister is the reverse of register. The same job may have been delivered to this server again, and be registered
// again.
func (s *Server) Unregister(r *Running) {
	r.Cancel(nil)
	s.mu.Lock()
	if key := state.Token(r.Claim.Job.ID); s.running[key] == r {
		delete(s.running, key)
	}
	s.mu.Unlock()
	r.Claim.markBegun() // a member that waits to follow it finds that it is not registered
}

// registered reports whether members find that job.
func (s *Server) registered(r *Running) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running[state.Token(r.Claim.Job.ID)] == r
}

// run runs a claimed job, with a heartbeat beside it.
func (s *Server) run(r *Running) {
	c := r.Claim
	s.Register(r) // another delivery of the job, which lost, may have been registered in between
	defer s.Unregister(r)
	stop := s.startHeartbeat(c, r.Cancel)
	status, prediction := s.runner.Run(r.ctx, c)
	c.markBegun()
	s.End(r.ctx, c, status, prediction)
	stop()
}

// startHeartbeat keeps a job until stop is called, and ends the run where the job is lost or canceled. Most jobs end
// before the first heartbeat, so its goroutine starts then.
func (s *Server) startHeartbeat(c *Claim, cancel context.CancelCauseFunc) (stop func()) {
	ctx, end := context.WithCancel(context.Background())
	ended := make(chan struct{})
	timer := time.AfterFunc(s.q.s.Options.AckWait/3, func() {
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
		beat, done := context.WithTimeout(ctx, s.q.s.Options.AckWait/3)
		result := c.Beat(beat)
		if absent++; !s.q.Abandoned(beat, &c.Job) {
			absent = 0
		}
		done()
		if absent == maxAbsent {
			cancel(context.Canceled)
		}
		switch result {
		case Lost:
			cancel(state.ErrLost)
			return
		case CancelAsked:
			cancel(context.Canceled)
		case Held, Uncertain:
		}
		_ = state.Pause(ctx, s.q.s.Options.AckWait/3)
	}
}

// maxAbsent is at how many heartbeats in a row the member of a waiting client must be gone before its job is canceled:
// it may be reconnecting.
const maxAbsent = 2

// End writes the end of a run, for as long as that takes: the model's work is not thrown away because NATS is gone for
// a while.
func (s *Server) End(ctx context.Context, c *Claim, status state.Status, prediction []byte) {
	for context.Cause(ctx) != state.ErrLost { //nolint:errorlint // it is set above, and never wrapped
		try, cancel := state.WithIdleTimeout(s.q.s.Options.AckWait/3, len(prediction))
		var err error
		if status == state.Starting {
			err = c.Release(try, prediction)
		} else {
			err = c.End(try, status, prediction)
		}
		cancel()
		switch {
		case err == nil:
			return
		case !errors.Is(err, state.ErrLost):
			s.q.s.OnNoAnswer()
			s.log.Warn("the end of a job could not be stored; will try again", "prediction_id", logtext.Clip(c.Job.ID), "error",
				err)
			_ = state.Pause(context.Background(), time.Second)
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
	for verb, answer := range map[string]nats.MsgHandler{"held": s.onOwner, "cancel": s.OnCancel, "attach": s.OnAttach} {
		subscription, err := s.q.s.NC.Subscribe("pinion."+verb+"."+s.q.s.Options.Model+".*", live.Answered(answer))
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
	if l, ok := live.ReadLookup(m); ok {
		go s.answerLookup(m, l)
	} else if s.Find(m.Subject) != nil {
		_ = m.Respond(nil)
	}
}

func (s *Server) OnCancel(m *nats.Msg) {
	if l, ok := live.ReadLookup(m); ok {
		if s.runner.CancelDirect(l) {
			_ = m.Respond(nil)
		} else {
			s.respondAbsent(m, l)
		}
	} else if r := s.Find(m.Subject); r != nil {
		r.Claim.noteCancel(m.Header)
		r.Cancel(context.Canceled)
	}
}

func (s *Server) OnAttach(m *nats.Msg) {
	if m.Reply == "" {
		return
	}
	if l, ok := live.ReadLookup(m); ok {
		go s.followDirect(l, m.Reply, live.ReadHad(m))
	} else if r := s.Find(m.Subject); r != nil {
		go s.follow(r, m.Reply, live.ReadHad(m))
	}
}

// Find returns the run that a subject is about, or nil if it does not run here.
func (s *Server) Find(subject string) *Running {
	last := len(subject)
	for last > 0 && subject[last-1] != '.' {
		last--
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running[subject[last:]]
}
