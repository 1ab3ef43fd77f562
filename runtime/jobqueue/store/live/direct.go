package live

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"pinion/runtime/jobqueue/store/state"
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
	Kind state.Kind `json:"kind"`
	ID   string     `json:"id"`
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

// HeaderAbsent is the header of such an answer: the server's name.
const HeaderAbsent = "Pinion-Absent"

// ReadLookup reads the lookup of a message, or reports false if the message is about a job.
func ReadLookup(m *nats.Msg) (l Lookup, ok bool) {
	return l, len(m.Data) > 0 && json.Unmarshal(m.Data, &l) == nil && l.ID != ""
}

// AsMessage returns an object as a message can carry it.
func (q *Live) AsMessage(object json.RawMessage) (json.RawMessage, error) {
	ctx, cancel := state.WithIdleTimeout(OwnerTimeout, len(object))
	defer cancel()
	return q.State.Objects.StoreResult(ctx, rand.Text(), object)
}

// LookupDirect asks all servers for a direct prediction, for that long at most, and returns its object, which the
// caller releases; without one, no server has it.
func (q *Live) LookupDirect(ctx context.Context, lookup Lookup, wait time.Duration) (state.Result, error) {
	m := q.requestDirect(ctx, "held", lookup, wait)
	if m == nil {
		return state.Result{}, nil
	}
	return q.State.Objects.LoadResult(ctx, m.Data)
}

// CancelDirect cancels a direct prediction on whichever server it is; false means no server has it.
func (q *Live) CancelDirect(ctx context.Context, lookup Lookup, wait time.Duration) bool {
	return q.requestDirect(ctx, "cancel", lookup, wait) != nil
}

// maxResponders is the largest number of servers of which all are asked to answer: a client that asks for unknown ids
// must not cost a large fleet more.
const maxResponders = 64

// requestDirect asks all servers about a direct prediction; nil means all that are known said that they do not have it,
// or none answered in time.
func (q *Live) requestDirect(ctx context.Context, verb string, lookup Lookup, wait time.Duration) *nats.Msg {
	if q.State.Options.Host != nil {
		return nil // this is the only server
	}
	// A member that has just connected does not know all servers yet.
	lookup.All = q.ReconnectGrace() <= 0 && len(q.Members.Live(time.Now())) <= maxResponders
	text, err := json.Marshal(lookup)
	if err != nil {
		return nil
	}
	answers, err := q.State.NC.SubscribeSync(q.State.NC.NewInbox())
	if err != nil {
		return nil
	}
	defer func() { _ = answers.Unsubscribe() }()
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if q.State.NC.PublishRequest(q.State.Names.About(verb, lookup.ID), answers.Subject, text) != nil {
		return nil
	}
	var absent []string
	for {
		m, err := answers.NextMsgWithContext(ctx)
		if err != nil {
			return nil
		}
		name := m.Header.Get(HeaderAbsent)
		if name == "" {
			return m
		}
		absent = append(absent, name)
		// Asked again each time: a server that came since has published its status before it could be asked.
		silent := slices.DeleteFunc(q.Members.Live(time.Now()), func(id string) bool { return slices.Contains(absent, id) })
		if len(silent) == 0 {
			return nil
		}
	}
}
