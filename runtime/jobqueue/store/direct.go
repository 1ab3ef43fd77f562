package store

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
)

// A direct prediction is one that a client waits for at a server: it is not a job, and has no state. While it runs, its
// server answers for it to other members, by the same subjects as for jobs: held, cancel and attach, with a Lookup as
// data. Where servers are few, the others answer as well. If none answers, no server has it.

// Direct are the direct predictions of a server.
type Direct interface {
	// ShowDirect returns the object of the prediction, or the calls of the job, of a lookup, or nil if it does not run
	// here.
	ShowDirect(q Lookup) json.RawMessage
	// CancelDirect cancels it; false means it does not run here.
	CancelDirect(q Lookup) bool
	// FollowDirect passes its events after the first had ones to send, in order, until it has ended or send returns
	// false. The data of its end is its object. If it has ended here, FollowDirect sends the end, if that is known; if
	// it does not run here, it returns at once.
	FollowDirect(q Lookup, had uint64, send func(Event) bool)
}

// Lookup asks for a direct prediction, or for the calls of a job. It is the data of a message; a message about a job has none.
type Lookup struct {
	Kind Kind   `json:"kind"`
	ID   string `json:"id"`
	// Calls asks for a job that runs instead: its object with its calls of other models alone. Older servers do not have
	// it.
	Calls bool `json:"calls,omitempty"`
	// Brief means that its object without input, output and logs is enough.
	Brief bool `json:"brief,omitempty"`
	// All means that servers that do not have it answer, too. Older ones do not.
	All bool `json:"all,omitempty"`
	// Created is the created_at of its object, by which its server knows it once it has ended; "" means that its end is
	// not known.
	Created string `json:"created,omitempty"`
}

// headerAbsent is the header of such an answer: the server's name.
const headerAbsent = "Pinion-Absent"

// respondAbsent answers that a direct prediction does not run here.
func (s *Server) respondAbsent(m *nats.Msg, l Lookup) {
	if !l.All {
		return
	}
	answer := nats.NewMsg(m.Reply)
	answer.Header.Set(headerAbsent, token(s.q.o.Server))
	_ = m.RespondMsg(answer)
}

// readLookup reads the lookup of a message, or reports false if the message is about a job.
func readLookup(m *nats.Msg) (l Lookup, ok bool) {
	return l, len(m.Data) > 0 && json.Unmarshal(m.Data, &l) == nil && l.ID != ""
}

// answerLookup answers a lookup of another member.
func (s *Server) answerLookup(m *nats.Msg, l Lookup) {
	object := s.runner.ShowDirect(l)
	if object == nil {
		s.respondAbsent(m, l)
		return
	}
	if object, err := s.q.asMessage(object); err == nil {
		_ = m.Respond(object)
	}
}

// followDirect sends the events of a direct prediction to a member's inbox: those that it has not had.
func (s *Server) followDirect(l Lookup, inbox string, from had) {
	s.send(inbox, func(send func(Event) bool) {
		s.runner.FollowDirect(l, from.of(0), func(e Event) bool {
			if e.Event == EventEnd {
				e.Data, _ = s.q.asMessage(e.Data) // without it the follower has the outputs
			}
			return send(e)
		})
	})
}

// asMessage returns an object as a message can carry it.
func (q *Queue) asMessage(object json.RawMessage) (json.RawMessage, error) {
	ctx, cancel := WithIdleTimeout(ownerTimeout, len(object))
	defer cancel()
	return q.storeResult(ctx, rand.Text(), object)
}

// LookupDirect asks all servers for a direct prediction, for that long at most, and returns its object, which the
// caller releases; without one, no server has it.
func (q *Queue) LookupDirect(ctx context.Context, lookup Lookup, wait time.Duration) (Result, error) {
	m := q.requestDirect(ctx, "held", lookup, wait)
	if m == nil {
		return Result{}, nil
	}
	return q.loadResult(ctx, m.Data)
}

// CancelDirect cancels a direct prediction on whichever server it is; false means no server has it.
func (q *Queue) CancelDirect(ctx context.Context, lookup Lookup, wait time.Duration) bool {
	return q.requestDirect(ctx, "cancel", lookup, wait) != nil
}

// maxResponders is the largest number of servers of which all are asked to answer: a client that asks for unknown ids
// must not cost a large fleet more.
const maxResponders = 64

// requestDirect asks all servers about a direct prediction; nil means all that are known said that they do not have it,
// or none answered in time.
func (q *Queue) requestDirect(ctx context.Context, verb string, lookup Lookup, wait time.Duration) *nats.Msg {
	if q.o.Host != nil {
		return nil // this is the only server
	}
	// A member that has just connected does not know all servers yet.
	lookup.All = q.reconnectGrace() <= 0 && len(q.members.live(time.Now())) <= maxResponders
	text, err := json.Marshal(lookup)
	if err != nil {
		return nil
	}
	answers, err := q.nc.SubscribeSync(q.nc.NewInbox())
	if err != nil {
		return nil
	}
	defer func() { _ = answers.Unsubscribe() }()
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if q.nc.PublishRequest(q.names.about(verb, lookup.ID), answers.Subject, text) != nil {
		return nil
	}
	var absent []string
	for {
		m, err := answers.NextMsgWithContext(ctx)
		if err != nil {
			return nil
		}
		name := m.Header.Get(headerAbsent)
		if name == "" {
			return m
		}
		absent = append(absent, name)
		// Asked again each time: a server that came since has published its status before it could be asked.
		silent := slices.DeleteFunc(q.members.live(time.Now()), func(id string) bool { return slices.Contains(absent, id) })
		if len(silent) == 0 {
			return nil
		}
	}
}
