package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"pinion/runtime/jobqueue/store/state"
)

// EndedJob is a job that has ended, while its end is known.
type EndedJob struct {
	ID    string
	State state.State
	Error string // of the prediction, if it failed
	Ended time.Time
}

// Ended returns the jobs that ended last, the newest first; limit 0 means all. With failed it returns only those that
// failed.
//
// The states of all jobs are in one stream, in the order of their last change, so it is read from its end.
func (a *Admin) Ended(ctx context.Context, failed bool, limit int) ([]EndedJob, error) {
	info, err := a.Q.State.States.Info(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the ends of jobs: %w", err)
	}
	var ended []EndedJob
	first, end := info.State.FirstSeq, info.State.LastSeq+1
	for size := uint64(256); end > first; size *= 2 {
		begin := max(first, end-min(size, end))
		part, err := a.endedBetween(ctx, begin, end, failed)
		if err != nil {
			return nil, err
		}
		slices.Reverse(part)
		ended = append(ended, part...)
		if limit > 0 && len(ended) >= limit {
			return ended[:limit], nil
		}
		end = begin
	}
	return ended, nil
}

// endedBetween returns the jobs whose last state is an end, in messages from begin on and before end.
func (a *Admin) endedBetween(ctx context.Context, begin, end uint64, failed bool) (ended []EndedJob, err error) {
	subject := strings.TrimSuffix(a.Q.State.Names.StateKey(""), state.Token("")) + "*"
	err = walk(ctx, a.Q.State.States, begin, subject, func(m *jetstream.RawStreamMsg) (bool, error) {
		if m.Sequence >= end {
			return false, nil
		}
		job := EndedJob{Ended: m.Time}
		if len(m.Data) == 0 {
			return true, nil
		}
		err := a.Q.State.Decode(m.Data, &job.State)
		switch {
		case errors.Is(err, state.ErrSealed):
			return false, err
		case err != nil, !job.State.Status.Ended(), failed && job.State.Status != state.Failed:
			return true, nil
		}
		return true, a.addEnded(ctx, &job, &ended)
	})
	return ended, err
}

// addEnded adds an ended job with what its prediction says.
func (a *Admin) addEnded(ctx context.Context, job *EndedJob, ended *[]EndedJob) error {
	result, err := a.Q.State.Objects.LoadResult(ctx, job.State.Prediction)
	if errors.Is(err, jetstream.ErrObjectNotFound) { // it has expired, and the state will
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the end of a job: %w", err)
	}
	var object struct{ ID, Error string }
	_ = json.Unmarshal(result.Object, &object) // without an id it cannot be named
	result.Release()
	if object.ID != "" {
		job.ID, job.Error = object.ID, object.Error
		*ended = append(*ended, *job)
	}
	return nil
}
