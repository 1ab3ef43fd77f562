package store

import (
	"context"
	"errors"

	"pinion/runtime/jobqueue/store/consume"
	"pinion/runtime/jobqueue/store/live"
	"pinion/runtime/jobqueue/store/state"
)

// Queue is the job queue of one model. Safe for concurrent use.
type Queue struct {
	State *state.Store
	Live  *live.Live
	Jobs  *consume.Consumer
}

// Open joins the queue of a model, and makes its streams if none are there. The connection is made.
func Open(ctx context.Context, c *state.Conn, o state.Options) (*Queue, error) {
	s, err := state.Open(ctx, c, o)
	if err != nil {
		return nil, err
	}
	return Of(s), nil
}

// Of returns the queue whose records a store has.
func Of(s *state.Store) *Queue {
	l := live.New(s)
	return &Queue{s, l, consume.New(s, l)}
}

// Find returns the state of a job, which the caller releases, or ErrUnknown. A job that cannot end by itself any more
// ends now; see reap.
func (q *Queue) Find(ctx context.Context, id string, renderer state.Renderer) (state.State, error) {
	s, err := q.FindState(ctx, id, renderer)
	if err == nil && s.Status.Ended() {
		return q.State.WithResult(ctx, s)
	}
	return s, err
}

// FindState is Find without a large result.
func (q *Queue) FindState(ctx context.Context, id string, renderer state.Renderer) (state.State, error) {
	s, err := q.findStored(ctx, id, renderer)
	return s.State, err
}

// findStored is FindState with the revision.
func (q *Queue) findStored(ctx context.Context, id string, renderer state.Renderer) (state.Stored, error) {
	s, err := q.State.Read(ctx, id)
	switch {
	case err == nil && s.Status == "", errors.Is(err, state.ErrUnreadable): // its clients would wait forever
		return s, state.ErrUnknown
	case err != nil, s.Status.Ended():
		return s, err
	}
	return q.reap(ctx, id, s, renderer), nil
}
