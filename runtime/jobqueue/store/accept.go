package store

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"

	"pinion/runtime/jobqueue/store/state"
)

// InUseError is an id that is known already: its prediction waits, runs or has ended.
type InUseError struct{ State state.State }

func (e *InUseError) Error() string {
	return fmt.Sprintf("a prediction with this id is known already; it is %s", e.State.Status)
}

// Accept stores a job; with its return the job survives. prediction is the object that clients see until it runs. If
// again is true, an id that is known and still waits is published once more under its token, for a client whose first
// request was left in doubt, and the caller releases the state of an *InUseError. Errors: *InUseError, ErrFull,
// ErrUnavailable (nothing is stored), ErrInDoubt.
func (q *Queue) Accept(ctx context.Context, j state.Job, prediction json.RawMessage, again bool) (state.State, error) {
	if e := q.State.Options.Host; e != nil {
		if err := e.Room(); err != nil {
			return state.State{}, fmt.Errorf("%w: %w", state.ErrUnavailable, err)
		}
	}
	s, err := q.accept(ctx, j, prediction, again)
	if errors.Is(err, state.ErrInDoubt) {
		q.State.OnNoAnswer()
	}
	return s, err
}

func (q *Queue) accept(ctx context.Context, j state.Job, prediction json.RawMessage, again bool) (state.State, error) {
	j.Token, j.Deadline = rand.Text(), q.State.ToNATS(ctx, j.Deadline)
	s := state.State{Job: j.Token, Status: state.Starting, Hook: j.Hook, ModelVersion: j.Version, Prediction: prediction}
	if j.Digest != "" {
		s.Digest = []byte(j.Digest)
	}
	if j.Kind != state.Prediction {
		s.Kind = j.Kind
	}
	if !j.Deadline.IsZero() {
		s.Deadline = j.Deadline.UnixMilli()
	}
	revision, text, err := q.Create(ctx, j.ID, &s)
	var used *InUseError
	if errors.As(err, &used) && again && used.State.Status == state.Starting && !used.State.Cancel {
		// The swap makes sure that no purge of the first request hits the state from here on.
		s, err = q.Touch(ctx, j.ID)
		j.Token = s.Job
	}
	if err != nil {
		if used == nil || !again {
			return s, err
		}
		result, failed := q.State.Objects.LoadResult(ctx, used.State.Prediction)
		if failed != nil {
			return s, failed
		}
		used.State.Prediction, used.State.Result = result.Object, result
		return s, err
	}
	subject := q.State.Names.Job(j.Class, q.State.Options.Lanes, j.Tenant)
	if j.Version != "" {
		subject = q.State.Names.VersionJob(j.Version, j.Class, j.Tenant)
	}
	m := j.Message(subject)
	state.AttachState(m.Header, revision, text)
	m.Data = q.State.Options.Keys.Seal(state.SealBody, m.Data)
	if err := q.State.Objects.StoreBody(ctx, m, j.Token); err != nil {
		if revision != 0 && q.State.Purge(ctx, j.ID, revision) != nil {
			return s, state.ErrInDoubt
		}
		return s, state.Refusal(err)
	}
	return s, q.Publish(ctx, j.ID, revision, m)
}

// Publish stores the message of a job whose state is written, or takes the state back. revision is the state's; 0 means
// it was there before.
func (q *Queue) Publish(ctx context.Context, id string, revision uint64, m *nats.Msg) error {
	_, err := q.State.Insert(ctx, m)
	switch {
	case err == nil || errors.Is(err, state.ErrInDoubt): // a purge could hit a job that is stored
		return err
	case revision != 0 && q.State.Purge(ctx, id, revision) != nil:
		return state.ErrInDoubt
	}
	return state.Refusal(err)
}

// Create writes the first state of an id. It returns its revision and its stored text.
func (q *Queue) Create(ctx context.Context, id string, s *state.State) (revision uint64, text []byte, err error) {
	if text, err = q.State.Encode(s); err != nil {
		return 0, nil, err
	}
	for {
		created, err := q.State.Write(ctx, id, revision, text, false, func(now *state.State) bool { return now.Job == s.Job })
		if !errors.Is(err, state.ErrConflict) {
			return created, text, err
		}
		now, err := q.State.Read(ctx, id)
		switch {
		case err != nil && !state.IsForeign(err):
			return 0, nil, fmt.Errorf("%w: %w", state.ErrUnavailable, err)
		case now.Status != "":
			return 0, nil, &InUseError{now.State}
		}
		revision = now.Revision // of a purge
	}
}

// Touch writes the state of a waiting job again, unchanged, so that it has a new revision.
func (q *Queue) Touch(ctx context.Context, id string) (state.State, error) {
	for {
		now, err := q.State.Read(ctx, id)
		switch {
		case err != nil:
			return state.State{}, fmt.Errorf("%w: %w", state.ErrInDoubt, err)
		case now.Status == "":
			return state.State{}, state.ErrUnknown
		case now.Status != state.Starting:
			return now.State, &InUseError{now.State}
		}
		_, _, err = q.State.Swap(ctx, id, now, &now.State, func(s *state.State) bool {
			return s.Job == now.Job && s.Status == state.Starting
		})
		if !errors.Is(err, state.ErrConflict) {
			return now.State, err
		}
	}
}
