package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"

	"pinion/runtime/jobqueue/store/state"
)

// Cancel cancels a job that waits, or asks the server that runs it to. kind "" is any kind. It returns false if the
// job has ended otherwise, and ErrUnknown if none is known.
func (q *Queue) Cancel(ctx context.Context, id string, kind state.Kind, renderer state.Renderer) (bool, error) {
	for {
		now, err := q.findStored(ctx, id, renderer)
		switch {
		case err != nil && !state.IsForeign(err) && !errors.Is(err, state.ErrUnknown):
			return false, fmt.Errorf("%w: %w", state.ErrUnavailable, err)
		case now.Status == "", kind != "" && cmp.Or(now.Kind, state.Prediction) != kind:
			return false, state.ErrUnknown
		case now.Status.Ended():
			return now.Status == state.Canceled, nil
		case err != nil:
			return false, fmt.Errorf("%w: ask a newer server: %w", state.ErrUnavailable, err)
		case now.Cancel:
			return true, nil
		}
		if now.Status == state.Processing {
			err = q.cancelRun(ctx, id, now)
		} else {
			err = q.cancelWaiting(ctx, id, now, renderer)
		}
		if !errors.Is(err, state.ErrConflict) {
			return err == nil, err
		}
	}
}

// cancelWaiting ends a job that waits.
func (q *Queue) cancelWaiting(ctx context.Context, id string, now state.Stored, renderer state.Renderer) error {
	next := now.State
	next.Cancel, next.Status, next.Claim = true, state.Canceled, rand.Text()
	next.Prediction = renderer.RenderEnded(&state.Job{ID: id}, &next, state.Canceled, "")
	isMine := func(s *state.State) bool { return s.Claim == next.Claim }
	if _, _, err := q.State.Swap(ctx, id, now, &next, isMine); err != nil {
		return err
	}
	// Its message is dropped when it is delivered, with its webhook; this is for a queue that no server serves.
	if err := q.State.Hook(ctx, id, &next); err == nil {
		q.State.DeleteMessage(ctx, next.Seq)
	}
	return nil
}

// cancelRun sets the cancel flag in the state of a running job, which decides, and notifies the server that runs it.
// The notice has the new state, so the server need not read it to end the job. If the notice is lost, its heartbeat
// sees the flag later.
func (q *Queue) cancelRun(ctx context.Context, id string, now state.Stored) error {
	next := now.State
	next.Cancel = true
	text, err := q.State.Encode(&next)
	if err != nil {
		return err
	}
	revision, err := q.State.Write(ctx, id, now.Revision, text, false,
		func(s *state.State) bool { return s.Cancel && s.Job == now.Job })
	if err != nil {
		return err
	}
	m := nats.NewMsg(q.State.Names.About("cancel", id))
	state.Set(m.Header, state.HeaderToken, next.Job)
	state.AttachState(m.Header, revision, text)
	_ = q.State.NC.PublishMsg(m)
	return nil
}
