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
	Shower
	Direct
	// Free blocks until the model has free places, and returns how many. It returns 0 when ctx ends.
	Free(ctx context.Context) int
	// Time is how long the model has had a prediction lately; 0: it is not known, or the model takes batches.
	Time() time.Duration
	// Take takes a free place, which Run uses, or Return gives back; false: there is none any more.
	Take() bool
	Return()
	// Run runs a job until it has ended, and returns how. It gives the place back. ctx ends with cause ErrLost where
	// another server has the job; with context.Canceled where a client canceled it; with ErrDraining where this server
	// drains and its time is over: a status Starting then gives the job back.
	Run(ctx context.Context, c *Claim) (Status, []byte)
	// Follow passes the events of a job that runs to send, those so far and those that come, in order, until it has ended
	// or send returns false. It returns at once where the job does not run.
	Follow(id string, send func(Event) bool)
}

// ErrDraining is the cause of the end of a run whose server drains.
var ErrDraining = errors.New("the server drains")

// Server takes jobs from a queue and has them run.
type Server struct {
	q       *Queue
	runner  Runner
	log     *slog.Logger
	listens bool // used by Run alone

	mu      sync.Mutex
	running map[string]running // by the id's token
	all     sync.WaitGroup
}

// running is a job that runs here.
type running struct {
	claim  *Claim
	cancel context.CancelCauseFunc
}

// Serve returns a server of the queue. The caller runs it.
func (q *Queue) Serve(r Runner, log *slog.Logger) *Server {
	return &Server{q: q, runner: r, log: log, running: map[string]running{}}
}

// Run takes jobs until ctx ends, and then waits for those that run. Release ends them.
func (s *Server) Run(ctx context.Context) error {
	if err := s.listen(); err != nil {
		return fmt.Errorf("serve the job queue: %w", err)
	}
	p, err := newPuller(ctx, s.q)
	if err != nil {
		return fmt.Errorf("serve the job queue: %w", err)
	}
	defer p.close()
	for places := s.free(ctx, p); places > 0; places = s.free(ctx, p) {
		found := p.next(ctx, places)
		for _, m := range found {
			if !s.runner.Take() { // a request came first
				_ = m.Nak()
				continue
			}
			s.all.Add(1)
			go func() {
				defer s.all.Done()
				s.take(m)
			}()
		}
		if took := s.runner.Time(); len(found) == places && 0 < took && took < shortTime {
			p.lookAhead()
		}
	}
	s.all.Wait()
	return nil
}

// free waits for free places, and returns how many; 0: ctx has ended. Meanwhile the job that was pulled ahead waits,
// but not for long: then it is given back, for a server with a free place.
func (s *Server) free(ctx context.Context, p *puller) int {
	if p.ahead != nil {
		short, cancel := context.WithTimeout(ctx, aheadWait)
		places := s.runner.Free(short)
		cancel()
		if places > 0 {
			return places
		}
		p.giveBack()
	}
	return s.runner.Free(ctx)
}

// Release ends every run with ErrDraining.
func (s *Server) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.running {
		r.cancel(ErrDraining)
	}
}

// Running is how many jobs run here.
func (s *Server) Running() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.running)
}

// take claims a delivered job and runs it.
func (s *Server) take(m jetstream.Msg) {
	c, what := s.claim(m)
	if what == early {
		s.runner.Return()
		_ = pause(context.Background(), s.q.rest())
		if !s.runner.Take() {
			return // it is delivered again
		}
		_ = m.InProgress() // else it could be delivered again before the first heartbeat
		c, what = s.claim(m)
	}
	if what != claimed {
		s.runner.Return()
		s.log.Debug("a job was not taken", "outcome", string(what))
		return
	}
	s.run(c)
}

// claim decides about a delivered job.
func (s *Server) claim(m jetstream.Msg) (*Claim, outcome) {
	// A body that takes long must not be delivered again meanwhile.
	ctx, cancel := within(s.q.o.AckWait/2, func() { _ = m.InProgress() })
	defer cancel()
	return s.q.claim(ctx, m, s.runner)
}

// run runs a claimed job, with a heartbeat beside it.
func (s *Server) run(c *Claim) {
	key := token(c.Job.ID)
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	s.mu.Lock()
	s.running[key] = running{c, cancel}
	s.mu.Unlock()
	beating, stop := context.WithCancel(context.Background())
	var beats sync.WaitGroup
	beats.Add(1)
	go func() {
		defer beats.Done()
		s.beat(beating, c, cancel)
	}()
	status, prediction := s.runner.Run(ctx, c)
	s.end(ctx, c, status, prediction)
	stop()
	beats.Wait()
	s.mu.Lock()
	delete(s.running, key)
	s.mu.Unlock()
}

// beat keeps a job while it runs, and ends the run where the job is lost or canceled.
func (s *Server) beat(ctx context.Context, c *Claim, cancel context.CancelCauseFunc) {
	absent := 0
	for pause(ctx, s.q.o.AckWait/3) == nil {
		beat, done := context.WithTimeout(ctx, s.q.o.AckWait/3)
		sign := c.Beat(beat)
		if absent++; !s.q.abandoned(beat, &c.Job) {
			absent = 0
		}
		done()
		if absent == mostAbsent {
			cancel(context.Canceled)
		}
		switch sign {
		case Lost:
			cancel(ErrLost)
			return
		case CancelAsked:
			cancel(context.Canceled)
		case Held, Uncertain:
		}
	}
}

// mostAbsent is at how many heartbeats in a row the member of a waiting client must be gone: one may be connecting
// again.
const mostAbsent = 2

// end writes the end of a run, for as long as that takes: the model's work is not thrown away because NATS is gone for
// a while.
func (s *Server) end(ctx context.Context, c *Claim, status Status, prediction []byte) {
	for context.Cause(ctx) != ErrLost { //nolint:errorlint // it is set above, and never wrapped
		try, cancel := Within(s.q.o.AckWait/3, len(prediction))
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
			s.q.doubt()
			s.log.Warn("the end of a job could not be stored; will try again", "prediction_id", logtext.Clip(c.Job.ID), "error",
				err)
			_ = pause(context.Background(), time.Second)
			continue
		}
		break
	}
	s.q.tally.fenced.Add(1)
	s.log.Warn("the job was lost to another server while it ran; its result is dropped", "prediction_id",
		logtext.Clip(c.Job.ID))
}

// listen subscribes to questions, once for all ids. It lasts as long as the connection: direct predictions outlive the
// last job.
func (s *Server) listen() error {
	if s.listens {
		return nil
	}
	var all []*nats.Subscription
	for verb, answer := range map[string]nats.MsgHandler{"held": s.onHeld, "cancel": s.onCancel, "attach": s.onAttach} {
		one, err := s.q.nc.Subscribe("pinion."+verb+"."+s.q.o.Model+".*", answer)
		if err != nil {
			for _, sub := range all {
				_ = sub.Unsubscribe()
			}
			return err
		}
		all = append(all, one)
	}
	s.listens = true
	return nil
}

func (s *Server) onHeld(m *nats.Msg) {
	if q, ok := questionOf(m); ok {
		go s.answer(m, q)
	} else if s.find(m.Subject).claim != nil {
		_ = m.Respond(nil)
	}
}

func (s *Server) onCancel(m *nats.Msg) {
	if q, ok := questionOf(m); ok {
		if s.runner.CancelDirect(q) {
			_ = m.Respond(nil)
		} else {
			s.absent(m, q)
		}
	} else if r := s.find(m.Subject); r.claim != nil {
		r.claim.canceled(m.Header)
		r.cancel(context.Canceled)
	}
}

func (s *Server) onAttach(m *nats.Msg) {
	if m.Reply == "" {
		return
	}
	if q, ok := questionOf(m); ok {
		go s.followDirect(q, m.Reply)
	} else if r := s.find(m.Subject); r.claim != nil {
		go s.follow(r.claim.Job.ID, r.claim.State.Attempt, m.Reply)
	}
}

// find returns the run that a subject is about; the zero value: it does not run here.
func (s *Server) find(subject string) running {
	last := len(subject)
	for last > 0 && subject[last-1] != '.' {
		last--
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running[subject[last:]]
}
