package store

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
)

// A direct prediction is one that a client waits for at a server: it is no job, and has no state. While it runs, its
// server answers for it to other members, by the same subjects as for jobs: held, cancel and attach, with a question.
// Where servers are few, the others answer as well. Silence means that no server has it.

// Direct are the direct predictions of a server.
type Direct interface {
	// ShowDirect returns the object of the prediction that a question is about; nil: it does not run here.
	ShowDirect(q Question) json.RawMessage
	// CancelDirect cancels it; false: it does not run here.
	CancelDirect(q Question) bool
	// FollowDirect passes its events to send, those so far and those that come, in order, until it has ended or send
	// returns false. The data of its end is its object. It returns at once where the prediction does not run here.
	FollowDirect(q Question, send func(Event) bool)
}

// Question asks for a direct prediction. It is the data of a message; a message about a job has none.
type Question struct {
	Kind Kind   `json:"kind"`
	ID   string `json:"id"`
	// Brief: its object without input, output and logs is enough.
	Brief bool `json:"brief,omitempty"`
	// All: servers that do not have it answer, too. Older ones do not.
	All bool `json:"all,omitempty"`
}

// headerAbsent is the header of such an answer: the server's name.
const headerAbsent = "Pinion-Absent"

// absent says that a direct prediction does not run here.
func (s *Server) absent(m *nats.Msg, q Question) {
	if !q.All {
		return
	}
	answer := nats.NewMsg(m.Reply)
	answer.Header.Set(headerAbsent, token(s.q.o.Server))
	_ = m.RespondMsg(answer)
}

// questionOf reads the question of a message; false: the message is about a job.
func questionOf(m *nats.Msg) (q Question, ok bool) {
	return q, len(m.Data) > 0 && json.Unmarshal(m.Data, &q) == nil && q.ID != ""
}

// answer answers a question of another member.
func (s *Server) answer(m *nats.Msg, q Question) {
	object := s.runner.ShowDirect(q)
	if object == nil {
		s.absent(m, q)
		return
	}
	if object, err := s.q.pass(object); err == nil {
		_ = m.Respond(object)
	}
}

// followDirect sends the events of a direct prediction to a member's inbox.
func (s *Server) followDirect(q Question, inbox string) {
	s.send(inbox, func(send func(Event) bool) {
		s.runner.FollowDirect(q, func(e Event) bool {
			if e.Event == EventEnd {
				e.Data, _ = s.q.pass(e.Data) // without it the follower has the outputs
			}
			return send(e)
		})
	})
}

// pass returns an object as a message can carry it.
func (q *Queue) pass(object json.RawMessage) (json.RawMessage, error) {
	ctx, cancel := Within(heldWait, len(object))
	defer cancel()
	return q.storeResult(ctx, rand.Text(), object)
}

// Ask asks all servers for a direct prediction, for that long at most, and returns its object, which the caller
// releases; without one, no server has it.
func (q *Queue) Ask(ctx context.Context, question Question, wait time.Duration) (Result, error) {
	m := q.ask(ctx, "held", question, wait)
	if m == nil {
		return Result{}, nil
	}
	return q.loadResult(ctx, m.Data)
}

// CancelDirect cancels a direct prediction on whichever server it is; false: no server has it.
func (q *Queue) CancelDirect(ctx context.Context, question Question, wait time.Duration) bool {
	return q.ask(ctx, "cancel", question, wait) != nil
}

// mostAnswers is for how many servers all are asked to answer: a client that asks for unknown ids must not cost a large
// fleet more.
const mostAnswers = 64

// ask asks all servers about a direct prediction; nil: all that are known said that they do not have it, or none
// answered in time.
func (q *Queue) ask(ctx context.Context, verb string, question Question, wait time.Duration) *nats.Msg {
	if q.o.Embedded != nil {
		return nil // this is the only server
	}
	// A member that has just connected has not heard all servers.
	question.All = q.rest() <= 0 && len(q.loads.names(time.Now())) <= mostAnswers
	text, err := json.Marshal(question)
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
	if q.nc.PublishRequest(q.names.about(verb, question.ID), answers.Subject, text) != nil {
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
		// Asked anew each time: a server that came since has said so before it could be asked.
		silent := slices.DeleteFunc(q.loads.names(time.Now()), func(one string) bool { return slices.Contains(absent, one) })
		if len(silent) == 0 {
			return nil
		}
	}
}
