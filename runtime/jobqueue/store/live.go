package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

// Event is a step of a job that runs, as members that follow it get it. Events are not stored: what a member missed is
// in the state at the end.
type Event struct {
	Attempt int    `json:"attempt"` // which run: those of an earlier one are out of date
	Index   uint64 `json:"index"`   // of outputs, counted from 0
	// Number counts the events of the run from 1; 0 means the end alone, or of an older server.
	Number uint64          `json:"number,omitempty"`
	Event  string          `json:"event"`
	Data   json.RawMessage `json:"data,omitempty"`
	// Result is the object of an end, if it was stored apart. The reader of the event releases it.
	Result Result `json:"-"`
}

// The kinds of an Event.
const (
	EventStart  = "start"
	EventOutput = "output"
	EventLog    = "log"
	EventMetric = "metric"
	EventEnd    = "end"
)

const (
	// probeInterval is how often the owner of a job probes a follower.
	probeInterval = 5 * time.Second
	// probeTimeout bounds a probe. Only ErrNoResponders counts, so it is not a limit for slow followers.
	probeTimeout = 2 * time.Second
)

// follow sends the events of a job that runs here, or is about to, to a member's inbox: those that it has not had.
func (s *Server) follow(r *running, inbox string, from had) {
	<-r.claim.begun
	if !s.registered(r) { // the state tells its end, or another server has it
		return
	}
	s.send(inbox, func(send func(Event) bool) {
		s.runner.Follow(r.claim.Job.ID, from.of(r.claim.State.Attempt), func(e Event) bool {
			e.Attempt = r.claim.State.Attempt
			return send(e)
		})
	})
}

// send sends the events that follow passes on to a member's inbox, for as long as the member is there.
func (s *Server) send(inbox string, follow func(send func(Event) bool)) {
	var lost atomic.Bool
	done := make(chan struct{})
	defer close(done)
	go s.probe(inbox, done, &lost)
	follow(func(e Event) bool {
		text, err := json.Marshal(e)
		return err == nil && !lost.Load() && s.q.nc.Publish(inbox, text) == nil
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
		if _, err := s.q.nc.Request(inbox, nil, probeTimeout); errors.Is(err, nats.ErrNoResponders) {
			lost.Store(true)
			return
		}
	}
}

// ReplySubject returns the subject of notices about a job that a member waits for.
func (q *Queue) ReplySubject(id string) string {
	return "pinion.reply." + q.o.Model + "." + token(q.o.Server) + "." + token(id)
}

// Waiter returns the subject on which a member answers for as long as it is there, and by which a job's client is known
// to be there.
func (q *Queue) Waiter() string { return "pinion.alive." + q.o.Model + "." + token(q.o.Server) }

// isMembers reports whether a subject is one of members that wait. A job's message may name any other, such as one of
// JetStream's API, and what is published there would be published with this member's rights.
func (q *Queue) isMembers(verb, subject string) bool {
	rest, ok := strings.CutPrefix(subject, "pinion."+verb+"."+q.o.Model+".")
	return ok && rest != "" && !strings.ContainsAny(rest, "*> \t\r\n")
}

// answered calls answer with requests whose answers go to an inbox, or that want none, for the same reason.
func answered(answer nats.MsgHandler) nats.MsgHandler {
	return func(m *nats.Msg) {
		if m.Reply == "" || strings.HasPrefix(m.Reply, nats.InboxPrefix) {
			answer(m)
		}
	}
}

// A Notice tells a member that a job for which it waits has started or ended. Of an end it is the state as
// it is stored, or empty where that is large: then the member reads it.
type Notice []byte

// noticeStarted is not a state.
const noticeStarted = "begun"

// Started reports whether the job has started and has not ended.
func (n Notice) Started() bool { return string(n) == noticeStarted }

// maxNotice is the largest state in bytes that a notice has.
const maxNotice = 32 << 10

// Ended returns the state of a notice, which the caller releases; false means it has none that this member can read.
func (q *Queue) Ended(ctx context.Context, n Notice) (s State, ok bool) {
	if len(n) == 0 || n.Started() || q.decode(n, &s) != nil || !s.Status.Ended() {
		return State{}, false
	}
	s, err := q.withResult(ctx, s)
	return s, err == nil
}

// Answer makes this member answer probes, and receive notices of the jobs that it waits for: told is called with the
// subject of each, when it begins and when it has ended. It must not block. stop ends that.
func (q *Queue) Answer(told func(subject string, n Notice)) (stop func(), err error) {
	alive, err := q.nc.Subscribe(q.Waiter(), answered(func(m *nats.Msg) { _ = m.Respond(nil) }))
	if err != nil {
		return nil, err
	}
	replies, err := q.nc.Subscribe("pinion.reply."+q.o.Model+"."+token(q.o.Server)+".*",
		func(m *nats.Msg) { told(m.Subject, m.Data) })
	loads, errLoads := q.watchMembership()
	return func() {
		_ = alive.Unsubscribe()
		if loads != nil {
			_ = loads.Unsubscribe()
		}
		if replies != nil {
			_ = replies.Unsubscribe()
		}
	}, errors.Join(err, errLoads)
}

// NotifyStart lets the job be followed, and tells the member that waits for it that it has started: at once, or when
// the job has run for as long as the member said. Call stop when the job has ended.
func (c *Claim) NotifyStart() (stop func()) {
	c.markBegun()
	if c.Job.NotifyStartAfter == 0 {
		c.notify(Notice(noticeStarted))
		return func() {}
	}
	timer := time.AfterFunc(c.Job.NotifyStartAfter, func() { c.notify(Notice(noticeStarted)) })
	return func() { timer.Stop() }
}

// notify tells the member that waits for the job.
func (c *Claim) notify(n Notice) {
	if c.q.isMembers("reply", c.Job.Reply) {
		_ = c.q.nc.Publish(c.Job.Reply, n) // if it is lost, the member reads the state later
	}
}

// abandoned reports whether a client waits for a job whose member has left.
func (q *Queue) abandoned(ctx context.Context, j *Job) bool {
	if !q.isMembers("alive", j.Waiter) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, ownerTimeout)
	defer cancel()
	_, err := q.nc.RequestWithContext(ctx, j.Waiter, nil)
	return errors.Is(err, nats.ErrNoResponders) // a timeout alone proves nothing
}

// Stream is the events of a job, or of a direct prediction, that runs on some server.
type Stream struct {
	C <-chan *nats.Msg // replaced by Request

	q         *Queue
	id        string
	lookup    []byte // nil means it is a job
	sub       *nats.Subscription
	requested bool
}

// maxPendingEvents is how many events of a job may wait in a member.
const maxPendingEvents = 4096

// Follow opens the events of a job. None come before Request.
func (q *Queue) Follow(id string) (*Stream, error) {
	s := &Stream{q: q, id: id}
	return s, s.open()
}

// open opens an inbox for events.
func (s *Stream) open() (err error) {
	c := make(chan *nats.Msg, maxPendingEvents)
	s.C = c
	s.sub, err = s.q.nc.ChanSubscribe(s.q.nc.NewRespInbox(), c)
	return err
}

// FollowDirect opens the events of a direct prediction.
func (q *Queue) FollowDirect(lookup Lookup) (*Stream, error) {
	text, err := json.Marshal(lookup)
	if err != nil {
		return nil, err
	}
	s, err := q.Follow(lookup.ID)
	if err == nil {
		s.lookup = text
	}
	return s, err
}

// Request asks the owner of the job for the events after the first count of a run, and for all of another run; false
// means NATS is away. If no server owns it, nothing comes. Events of an earlier Request no longer come, or they would
// come twice.
func (s *Stream) Request(attempt int, count uint64) bool {
	if s.requested {
		s.Close()
		if s.open() != nil {
			return false
		}
	}
	s.requested = true
	m := nats.NewMsg(s.q.names.about("attach", s.id))
	m.Reply, m.Data = s.sub.Subject, s.lookup
	if count > 0 {
		m.Header.Set(headerHad, had{attempt, count}.String())
	}
	return s.q.nc.PublishMsg(m) == nil
}

// headerHad is the header of a request for events: it counts those that are not sent again. Older servers send all.
const headerHad = "Pinion-Had"

// had is how many events of a run a follower has had.
type had struct {
	attempt int
	count   uint64
}

func (h had) String() string { return fmt.Sprintf("%d %d", h.attempt, h.count) }

// readHad reads the header. What is not valid counts as none.
func readHad(m *nats.Msg) (h had) {
	if _, err := fmt.Sscanf(m.Header.Get(headerHad), "%d %d", &h.attempt, &h.count); err != nil {
		return had{}
	}
	return h
}

// of returns how many events of a run the follower has had.
func (h had) of(attempt int) uint64 {
	if h.attempt != attempt {
		return 0
	}
	return h.count
}

// Read reads an event; false means it was a probe, and is answered.
func (s *Stream) Read(m *nats.Msg) (e Event, ok bool) {
	if len(m.Data) == 0 {
		_ = m.Respond(nil)
		return e, false
	}
	if json.Unmarshal(m.Data, &e) != nil {
		return e, false
	}
	if e.Event == EventEnd && e.Data != nil {
		ctx, cancel := WithIdleTimeout(resultTimeout, 0)
		defer cancel()
		e.Result, _ = s.q.loadResult(ctx, e.Data) // without an object: it cannot be read
		e.Data = e.Result.Object
	}
	return e, true
}

// resultTimeout is the idle timeout while the result of a direct prediction is read.
const resultTimeout = 30 * time.Second

// Close ends the events.
func (s *Stream) Close() { _ = s.sub.Unsubscribe() }
