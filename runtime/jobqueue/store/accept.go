package store

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
)

// InUseError is an id that is known already: its prediction waits, runs or has ended.
type InUseError struct{ State State }

func (e *InUseError) Error() string {
	return fmt.Sprintf("a prediction with this id is known already; it is %s", e.State.Status)
}

// Accept stores a job; with its return the job survives. prediction is the object that clients see until it runs. If
// again is true, an id that is known and still waits is published once more under its token, for a client whose first
// request was left in doubt, and the caller releases the state of an *InUseError. Errors: *InUseError, ErrFull,
// ErrUnavailable (nothing is stored), ErrInDoubt.
func (q *Queue) Accept(ctx context.Context, j Job, prediction json.RawMessage, again bool) (State, error) {
	if e := q.o.Host; e != nil {
		if err := e.Room(); err != nil {
			return State{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
	}
	s, err := q.accept(ctx, j, prediction, again)
	if errors.Is(err, ErrInDoubt) {
		q.onNoAnswer()
	}
	return s, err
}

// onNoAnswer is called when NATS did not answer.
func (q *Queue) onNoAnswer() {
	if q.o.Host != nil {
		q.o.Host.Revive()
	}
}

func (q *Queue) accept(ctx context.Context, j Job, prediction json.RawMessage, again bool) (State, error) {
	j.token, j.Deadline = rand.Text(), q.toNATS(ctx, j.Deadline)
	s := State{Job: j.token, Status: Starting, Hook: j.Hook, ModelVersion: j.Version, Prediction: prediction}
	if j.Digest != "" {
		s.Digest = []byte(j.Digest)
	}
	if j.Kind != Prediction {
		s.Kind = j.Kind
	}
	if !j.Deadline.IsZero() {
		s.Deadline = j.Deadline.UnixMilli()
	}
	revision, text, err := q.create(ctx, j.ID, &s)
	var used *InUseError
	if errors.As(err, &used) && again && used.State.Status == Starting && !used.State.Cancel {
		// The swap makes sure that no purge of the first request hits the state from here on.
		s, err = q.touch(ctx, j.ID)
		j.token = s.Job
	}
	if err != nil {
		if used == nil || !again {
			return s, err
		}
		result, failed := q.loadResult(ctx, used.State.Prediction)
		if failed != nil {
			return s, failed
		}
		used.State.Prediction, used.State.result = result.Object, result
		return s, err
	}
	subject := q.names.job(j.Class, q.o.Lanes, j.Tenant)
	if j.Version != "" {
		subject = q.names.versionJob(j.Version, j.Class, j.Tenant)
	}
	m := j.message(subject)
	attachState(m.Header, revision, text)
	m.Data = q.o.Keys.seal(sealBody, m.Data)
	if err := q.storeBody(ctx, m, j.token); err != nil {
		if revision != 0 && q.purge(ctx, j.ID, revision) != nil {
			return s, ErrInDoubt
		}
		return s, refusal(err)
	}
	return s, q.publish(ctx, j.ID, revision, m)
}

// publish stores the message of a job whose state is written, or takes the state back. revision is the state's; 0 means
// it was there before.
func (q *Queue) publish(ctx context.Context, id string, revision uint64, m *nats.Msg) error {
	_, err := q.insert(ctx, m)
	switch {
	case err == nil || errors.Is(err, ErrInDoubt): // a purge could hit a job that is stored
		return err
	case revision != 0 && q.purge(ctx, id, revision) != nil:
		return ErrInDoubt
	}
	return refusal(err)
}

// refusal returns the error of a message that JetStream refused.
func refusal(err error) error {
	switch {
	case errors.Is(err, ErrUnavailable):
		return err
	case code(err) == codeFull:
		return ErrFull
	case noStream(err):
		return fmt.Errorf("%w: %w", ErrUnavailable, errNoStream)
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// create writes the first state of an id. It returns its revision and its stored text.
func (q *Queue) create(ctx context.Context, id string, s *State) (revision uint64, text []byte, err error) {
	if text, err = q.encode(s); err != nil {
		return 0, nil, err
	}
	for {
		created, err := q.write(ctx, id, revision, text, false, func(now *State) bool { return now.Job == s.Job })
		if !errors.Is(err, errConflict) {
			return created, text, err
		}
		now, err := q.read(ctx, id)
		switch {
		case err != nil && !isForeign(err):
			return 0, nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
		case now.Status != "":
			return 0, nil, &InUseError{now.State}
		}
		revision = now.revision // of a purge
	}
}

// touch writes the state of a waiting job again, unchanged, so that it has a new revision.
func (q *Queue) touch(ctx context.Context, id string) (State, error) {
	for {
		now, err := q.read(ctx, id)
		switch {
		case err != nil:
			return State{}, fmt.Errorf("%w: %w", ErrInDoubt, err)
		case now.Status == "":
			return State{}, ErrUnknown
		case now.Status != Starting:
			return now.State, &InUseError{now.State}
		}
		_, _, err = q.swap(ctx, id, now, &now.State, func(s *State) bool { return s.Job == now.Job && s.Status == Starting })
		if !errors.Is(err, errConflict) {
			return now.State, err
		}
	}
}

// Waiting returns how many jobs are stored: those that wait and those that run.
func (q *Queue) Waiting(ctx context.Context) (uint64, error) {
	info, err := q.jobsInfo(ctx)
	if err != nil {
		return 0, fmt.Errorf("count jobs: %w", err)
	}
	return info.State.Msgs, nil
}

// deleteMessage removes a message of the jobs that is still there.
func (q *Queue) deleteMessage(ctx context.Context, seq uint64) {
	if seq != 0 {
		_ = q.jobs.DeleteMsg(ctx, seq) // else it is dropped when it is delivered
	}
}
