package consume

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"pinion/runtime/jobqueue/store/live"
	"pinion/runtime/jobqueue/store/state"
)

// follow sends the events of a job that runs here, or is about to, to a member's inbox: those that it has not had.
func (s *Server) follow(r *Running, inbox string, from live.Had) {
	<-r.Claim.Begun
	if !s.registered(r) { // the state tells its end, or another server has it
		return
	}
	s.send(inbox, func(send func(live.Event) bool) {
		s.runner.Follow(r.Claim.Job.ID, from.Of(r.Claim.State.Attempt), func(e live.Event) bool {
			e.Attempt = r.Claim.State.Attempt
			return send(e)
		})
	})
}

// send sends the events that follow passes on to a member's inbox, for as long as the member is there.
func (s *Server) send(inbox string, follow func(send func(live.Event) bool)) {
	var lost atomic.Bool
	done := make(chan struct{})
	defer close(done)
	go s.probe(inbox, done, &lost)
	follow(func(e live.Event) bool {
		text, err := json.Marshal(e)
		return err == nil && !lost.Load() && s.q.s.NC.Publish(inbox, text) == nil
	})
}

// probe detects that the follower has left.
func (s *Server) probe(inbox string, done <-chan struct{}, lost *atomic.Bool) {
	for {
		select {
		case <-done:
			return
		case <-time.After(probeInterval):
		}
		if _, err := s.q.s.NC.Request(inbox, nil, probeTimeout); errors.Is(err, nats.ErrNoResponders) {
			lost.Store(true)
			return
		}
	}
}

const (
	// probeInterval is how often the owner of a job probes a follower.
	probeInterval = 5 * time.Second
	// probeTimeout bounds a probe. Only ErrNoResponders counts, so it is not a limit for slow followers.
	probeTimeout = 2 * time.Second
)

// NotifyStart lets the job be followed, and tells the member that waits for it that it has started: at once, or when
// the job has run for as long as the member said. Call stop when the job has ended.
func (c *Claim) NotifyStart() (stop func()) {
	c.markBegun()
	if c.Job.NotifyStartAfter == 0 {
		c.Notify(live.Notice(live.NoticeStarted))
		return func() {}
	}
	timer := time.AfterFunc(c.Job.NotifyStartAfter, func() { c.Notify(live.Notice(live.NoticeStarted)) })
	return func() { timer.Stop() }
}

// Notify tells the member that waits for the job.
func (c *Claim) Notify(n live.Notice) {
	if c.Q.live.IsMembers("reply", c.Job.Reply) {
		_ = c.Q.s.NC.Publish(c.Job.Reply, n) // if it is lost, the member reads the state later
	}
}

// Abandoned reports whether a client waits for a job whose member has left.
func (q *Consumer) Abandoned(ctx context.Context, j *state.Job) bool {
	if !q.live.IsMembers("alive", j.Waiter) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, live.OwnerTimeout)
	defer cancel()
	_, err := q.s.NC.RequestWithContext(ctx, j.Waiter, nil)
	return errors.Is(err, nats.ErrNoResponders) // a timeout alone proves nothing
}

// respondAbsent answers that a direct prediction does not run here.
func (s *Server) respondAbsent(m *nats.Msg, l live.Lookup) {
	if !l.All {
		return
	}
	answer := nats.NewMsg(m.Reply)
	answer.Header.Set(live.HeaderAbsent, state.Token(s.q.s.Options.Server))
	_ = m.RespondMsg(answer)
}

// answerLookup answers a lookup of another member.
func (s *Server) answerLookup(m *nats.Msg, l live.Lookup) {
	object := s.runner.ShowDirect(l)
	if object == nil {
		s.respondAbsent(m, l)
		return
	}
	if object, err := s.q.live.AsMessage(object); err == nil {
		_ = m.Respond(object)
	}
}

// followDirect sends the events of a direct prediction to a member's inbox: those that it has not had.
func (s *Server) followDirect(l live.Lookup, inbox string, from live.Had) {
	s.send(inbox, func(send func(live.Event) bool) {
		s.runner.FollowDirect(l, from.Of(0), func(e live.Event) bool {
			if e.Event == live.EventEnd {
				e.Data, _ = s.q.live.AsMessage(e.Data) // without it the follower has the outputs
			}
			return send(e)
		})
	})
}
