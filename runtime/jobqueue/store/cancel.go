package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
)

// Cancel cancels a job that waits, or asks the server that runs it to. kind "" is any kind. It returns false if the
// job has ended otherwise, and ErrUnknown if none is known.
func (q *Queue) Cancel(ctx context.Context, id string, kind Kind, renderer Renderer) (bool, error) {
	for {
		now, err := q.findStored(ctx, id, renderer)
		switch {
		case err != nil && !isForeign(err) && !errors.Is(err, ErrUnknown):
			return false, fmt.Errorf("%w: %w", ErrUnavailable, err)
		case now.Status == "", kind != "" && cmp.Or(now.Kind, Prediction) != kind:
			return false, ErrUnknown
		case now.Status.Ended():
			return now.Status == Canceled, nil
		case err != nil:
			return false, fmt.Errorf("%w: ask a newer server: %w", ErrUnavailable, err)
		case now.Cancel:
			return true, nil
		}
		if now.Status == Processing {
			err = q.cancelRun(ctx, id, now)
		} else {
			err = q.cancelWaiting(ctx, id, now, renderer)
		}
		if !errors.Is(err, errConflict) {
			return err == nil, err
		}
	}
}

// cancelWaiting ends a job that waits.
func (q *Queue) cancelWaiting(ctx context.Context, id string, now stored, renderer Renderer) error {
	next := now.State
	next.Cancel, next.Status, next.Claim = true, Canceled, rand.Text()
	next.Prediction = renderer.RenderEnded(&Job{ID: id}, &next, Canceled, "")
	if _, _, err := q.swap(ctx, id, now, &next, func(s *State) bool { return s.Claim == next.Claim }); err != nil {
		return err
	}
	// Its message is dropped when it is delivered, with its webhook; this is for a queue that no server serves.
	if err := q.hook(ctx, id, &next); err == nil {
		q.deleteMessage(ctx, next.Seq)
	}
	return nil
}

// cancelRun sets the cancel flag in the state of a running job, which decides, and notifies the server that runs it.
// The notice has the new state, so the server need not read it to end the job. If the notice is lost, its heartbeat
// sees the flag later.
func (q *Queue) cancelRun(ctx context.Context, id string, now stored) error {
	next := now.State
	next.Cancel = true
	text, err := q.encode(&next)
	if err != nil {
		return err
	}
	revision, err := q.write(ctx, id, now.revision, text, false,
		func(s *State) bool { return s.Cancel && s.Job == now.Job })
	if err != nil {
		return err
	}
	m := nats.NewMsg(q.names.about("cancel", id))
	set(m.Header, headerToken, next.Job)
	attachState(m.Header, revision, text)
	_ = q.nc.PublishMsg(m)
	return nil
}
