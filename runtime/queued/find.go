package queued

import (
	"context"
	"errors"

	"pinion/runtime/jobs"
	"pinion/runtime/predict"
)

// Find returns the prediction object of a job, on whichever server it is; nil: none is known.
func (m *Member) Find(kind predict.Kind, id string) ([]byte, error) {
	q, err := m.open()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), answerWait)
	defer cancel()
	s, err := q.Find(ctx, id, m)
	if err != nil && s.Status.Ended() { // its result is an object that cannot be read now
		return nil, m.refusal(id, err)
	}
	switch {
	case errors.Is(err, jobs.ErrUnknown), err == nil && kindOf(s.Kind) != kind:
		return nil, nil
	case s.Prediction != nil: // a newer member's state too: its object is for clients
		return s.Prediction, nil
	}
	return nil, m.refusal(id, err)
}

// Cancel cancels a job, on whichever server it is; false: none is known, or it has ended otherwise.
func (m *Member) Cancel(kind predict.Kind, id string) (bool, error) {
	q, err := m.open()
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), answerWait)
	defer cancel()
	s, err := q.Find(ctx, id, m)
	if err == nil && kindOf(s.Kind) == kind {
		canceled := false
		if canceled, err = q.Cancel(ctx, id, m); err == nil {
			return canceled, nil
		}
	}
	if err == nil || errors.Is(err, jobs.ErrUnknown) {
		return false, nil
	}
	return false, m.refusal(id, err)
}
