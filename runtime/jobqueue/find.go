package jobqueue

import (
	"context"
	"errors"
	"slices"
	"time"

	"pinion/runtime/jobqueue/store"
	"pinion/runtime/jobqueue/store/live"
	"pinion/runtime/jobqueue/store/state"
	"pinion/runtime/predict"
	"pinion/runtime/request"
)

// Find returns the prediction object of a job, or of a direct prediction that runs, on whichever server it is; nil
// means none is known. If calls, that of a job that runs has its calls, for which its server is asked.
func (m *Member) Find(kind predict.Kind, id string, calls bool) (a request.Accepted, err error) {
	a.ID = id
	ask, err := m.ask(state.MaxObject, time.Time{})
	if err != nil {
		return a, err
	}
	q := ask.q
	s, err := q.Find(ask, id, m)
	defer ask.done(err)
	if err != nil && s.Status.Ended() { // its result is an object that cannot be read now
		return a, m.refusal(id, err)
	}
	switch {
	case errors.Is(err, state.ErrUnknown), err == nil && predictKind(s.Kind) != kind:
		s.Release()
		r, err := q.Live.LookupDirect(ask, live.Lookup{Kind: storeKinds[kind], ID: id}, lookupTimeout)
		a.Object, a.Owner = r.Object, &r
		return a, m.refusal(id, err)
	case s.Prediction == nil:
		return a, m.refusal(id, err)
	}
	a.Object, a.Owner = s.Prediction, &s // a newer member's state too: its object is for clients
	if calls && s.Status == state.Processing && len(s.Prediction) > len("{}") {
		a.Object = m.withCalls(ask, q, live.Lookup{Kind: storeKinds[kind], ID: id}, s.Prediction)
	}
	return a, nil
}

// withCalls is the object of a job that runs, with its calls if its server answers in time.
func (m *Member) withCalls(ctx context.Context, q *store.Queue, l live.Lookup, object []byte) []byte {
	l.Calls = true
	r, err := q.Live.LookupDirect(ctx, l, attachTimeout)
	defer r.Release()
	if err != nil || len(r.Object) <= len("{}") {
		return object
	}
	return append(append(slices.Clip(object[:len(object)-1]), ','), r.Object[1:]...)
}

// Cancel cancels a job, or a direct prediction, on whichever server it is; false means none is known, or it has ended
// otherwise.
func (m *Member) Cancel(kind predict.Kind, id string) (bool, error) {
	ask, err := m.ask(0, time.Time{})
	if err != nil {
		return false, err
	}
	canceled, err := ask.q.Cancel(ask, id, storeKinds[kind], m)
	defer ask.done(err)
	if errors.Is(err, state.ErrUnknown) {
		return m.o.Local != nil && m.o.Local.Cancel(kind, id) ||
			ask.q.Live.CancelDirect(ask, live.Lookup{Kind: storeKinds[kind], ID: id}, lookupTimeout), nil
	}
	return canceled, m.refusal(id, err)
}
