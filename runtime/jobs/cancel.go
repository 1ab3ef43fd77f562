package jobs

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
)

// Cancel cancels a job that waits, or asks the server that runs it to. It returns false where the job has ended otherwise, and
// ErrUnknown where none is known.
func (q *Queue) Cancel(ctx context.Context, id string, show Shower) (bool, error) {
	for {
		now, err := q.read(ctx, id)
		switch {
		case errors.Is(err, errNewer) && !now.Status.Ended():
			return false, fmt.Errorf("%w: ask a newer server: %w", ErrUnavailable, err)
		case err != nil && !errors.Is(err, errNewer):
			return false, fmt.Errorf("%w: %w", ErrUnavailable, err)
		case now.Status == "":
			return false, ErrUnknown
		case now.Status.Ended():
			return now.Status == Canceled, nil
		case now.Cancel:
			return true, nil
		}
		next := now.State
		next.Cancel = true
		mine := func(s *State) bool { return s.Cancel && s.Job == now.Job }
		if now.Status == Starting {
			next.Status, next.Claim = Canceled, rand.Text()
			next.Prediction = show.Ended(&Job{ID: id}, &next, Canceled, "")
			mine = func(s *State) bool { return s.Claim == next.Claim }
		}
		_, err = q.swap(ctx, id, now, &next, mine)
		switch {
		case errors.Is(err, errConflict):
			continue
		case err != nil:
			return false, err
		case next.Status == Canceled:
			// Its message is dropped when it is delivered, with its webhook; this is for a queue that no server serves.
			if err := q.hook(ctx, id, &next); err == nil {
				q.deleteMessage(ctx, next.Seq)
			}
			return true, nil
		}
		// The heartbeat of its server would see it too, later.
		return true, q.nc.Publish(q.names.about("cancel", id), nil)
	}
}
