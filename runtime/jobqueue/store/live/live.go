package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"pinion/runtime/jobqueue/store/state"
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
	Result state.Result `json:"-"`
}

// The kinds of an Event.
const (
	EventStart  = "start"
	EventOutput = "output"
	EventLog    = "log"
	EventMetric = "metric"
	EventEnd    = "end"
)

// ReplySubject returns the subject of notices about a job that a member waits for.
func (q *Live) ReplySubject(id string) string {
	return "pinion.reply." + q.State.Options.Model + "." + state.Token(q.State.Options.Server) + "." + state.Token(id)
}

// Waiter returns the subject on which a member answers for as long as it is there, and by which a job's client is known
// to be there.
func (q *Live) Waiter() string {
	return "pinion.alive." + q.State.Options.Model + "." + state.Token(q.State.Options.Server)
}

// IsMembers reports whether a subject is one of members that wait. A job's message may name any other, such as one of
// JetStream's API, and what is published there would be published with this member's rights.
func (q *Live) IsMembers(verb, subject string) bool {
	rest, ok := strings.CutPrefix(subject, "pinion."+verb+"."+q.State.Options.Model+".")
	return ok && rest != "" && !strings.ContainsAny(rest, "*> \t\r\n")
}

// Answered calls answer with requests whose answers go to an inbox, or that want none, for the same reason.
func Answered(answer nats.MsgHandler) nats.MsgHandler {
	return func(m *nats.Msg) {
		if m.Reply == "" || strings.HasPrefix(m.Reply, nats.InboxPrefix) {
			answer(m)
		}
	}
}

// A Notice tells a member that a job for which it waits has started or ended. Of an end it is the state as
// it is stored, or empty where that is large: then the member reads it.
type Notice []byte

// NoticeStarted is not a state.
const NoticeStarted = "begun"

// Started reports whether the job has started and has not ended.
func (n Notice) Started() bool { return string(n) == NoticeStarted }

// MaxNotice is the largest state in bytes that a notice has.
const MaxNotice = 32 << 10

// Ended returns the state of a notice, which the caller releases; false means it has none that this member can read.
func (q *Live) Ended(ctx context.Context, n Notice) (s state.State, ok bool) {
	if len(n) == 0 || n.Started() || q.State.Decode(n, &s) != nil || !s.Status.Ended() {
		return state.State{}, false
	}
	s, err := q.State.WithResult(ctx, s)
	return s, err == nil
}

// Answer makes this member answer probes, and receive notices of the jobs that it waits for: told is called with the
// subject of each, when it begins and when it has ended. It must not block. stop ends that.
func (q *Live) Answer(told func(subject string, n Notice)) (stop func(), err error) {
	alive, err := q.State.NC.Subscribe(q.Waiter(), Answered(func(m *nats.Msg) { _ = m.Respond(nil) }))
	if err != nil {
		return nil, err
	}
	o := &q.State.Options
	replies, err := q.State.NC.Subscribe("pinion.reply."+o.Model+"."+state.Token(o.Server)+".*",
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

// Stream is the events of a job, or of a direct prediction, that runs on some server.
type Stream struct {
	C <-chan *nats.Msg // replaced by Request

	Q         *Live
	ID        string
	lookup    []byte // nil means it is a job
	Sub       *nats.Subscription
	requested bool
}

// maxPendingEvents is how many events of a job may wait in a member.
const maxPendingEvents = 4096

// Follow opens the events of a job. None come before Request.
func (q *Live) Follow(id string) (*Stream, error) {
	s := &Stream{Q: q, ID: id}
	return s, s.open()
}

// open opens an inbox for events.
func (s *Stream) open() (err error) {
	c := make(chan *nats.Msg, maxPendingEvents)
	s.C = c
	s.Sub, err = s.Q.State.NC.ChanSubscribe(s.Q.State.NC.NewRespInbox(), c)
	return err
}

// FollowDirect opens the events of a direct prediction.
func (q *Live) FollowDirect(lookup Lookup) (*Stream, error) {
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
	m := nats.NewMsg(s.Q.State.Names.About("attach", s.ID))
	m.Reply, m.Data = s.Sub.Subject, s.lookup
	if count > 0 {
		m.Header.Set(headerHad, Had{attempt, count}.String())
	}
	return s.Q.State.NC.PublishMsg(m) == nil
}

// headerHad is the header of a request for events: it counts those that are not sent again. Older servers send all.
const headerHad = "Pinion-Had"

// Had is how many events of a run a follower has had.
type Had struct {
	attempt int
	count   uint64
}

func (h Had) String() string { return fmt.Sprintf("%d %d", h.attempt, h.count) }

// ReadHad reads the header. What is not valid counts as none.
func ReadHad(m *nats.Msg) (h Had) {
	if _, err := fmt.Sscanf(m.Header.Get(headerHad), "%d %d", &h.attempt, &h.count); err != nil {
		return Had{}
	}
	return h
}

// Of returns how many events of a run the follower has had.
func (h Had) Of(attempt int) uint64 {
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
		ctx, cancel := state.WithIdleTimeout(resultTimeout, 0)
		defer cancel()
		e.Result, _ = s.Q.State.Objects.LoadResult(ctx, e.Data) // without an object: it cannot be read
		e.Data = e.Result.Object
	}
	return e, true
}

// resultTimeout is the idle timeout while the result of a direct prediction is read.
const resultTimeout = 30 * time.Second

// Close ends the events.
func (s *Stream) Close() { _ = s.Sub.Unsubscribe() }
