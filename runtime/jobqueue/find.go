package jobqueue

import (
	"context"
	"errors"

	"pinion/runtime/jobqueue/store"
	"pinion/runtime/predict"
)

// Find returns the prediction object of a job, or of a direct prediction that runs, on whichever server it is; nil
// means none is known. The caller calls release after its last use.
func (m *Member) Find(kind predict.Kind, id string) (object []byte, release func(), err error) {
	nothing := func() {}
	q, err := m.open()
	if err != nil {
		return nil, nothing, err
	}
	ctx, cancel := store.WithIdleTimeout(natsTimeout, store.MaxObject)
	defer cancel()
	s, err := q.Find(ctx, id, m)
	if err != nil && s.Status.Ended() { // its result is an object that cannot be read now
		return nil, nothing, m.refusal(id, err)
	}
	switch {
	case errors.Is(err, store.ErrUnknown), err == nil && predictKind(s.Kind) != kind:
		s.Release()
		r, err := q.LookupDirect(ctx, store.Lookup{Kind: storeKinds[kind], ID: id}, lookupTimeout)
		return r.Object, r.Release, m.refusal(id, err)
	case s.Prediction != nil: // a newer member's state too: its object is for clients
		return s.Prediction, s.Release, nil
	}
	return nil, nothing, m.refusal(id, err)
}

// Cancel cancels a job, or a direct prediction, on whichever server it is; false means none is known, or it has ended
// otherwise.
func (m *Member) Cancel(kind predict.Kind, id string) (bool, error) {
	q, err := m.open()
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), natsTimeout)
	defer cancel()
	canceled, err := q.Cancel(ctx, id, storeKinds[kind], m)
	if errors.Is(err, store.ErrUnknown) {
		return m.o.Local != nil && m.o.Local.Cancel(kind, id) ||
			q.CancelDirect(ctx, store.Lookup{Kind: storeKinds[kind], ID: id}, lookupTimeout), nil
	}
	return canceled, m.refusal(id, err)
}
