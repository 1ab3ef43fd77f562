package state

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Summary is the state of a model's queue.
type Summary struct {
	Model  string // its own name
	Stream string // of its jobs
	// Stored are jobs that wait or run. Of them no server has got Waiting yet.
	Stored, Waiting int
	Capacity        int64
	Dead            int       // dead letters
	Oldest          time.Time // when the job was accepted that waits longest; zero means none waits
}

// ErrNotListed means that NATS does not let this user list streams.
var ErrNotListed = errors.New("NATS does not allow this user to list the job queues: give --model NAME")

// allQueues asks about the queues of all models. It sets the connection's handler of errors. The context ends with
// ErrNotListed if NATS does not allow that.
func allQueues(ctx context.Context, nc *nats.Conn) (context.Context, jetstream.JetStream, error) {
	js, err := jetstream.New(nc)
	if err != nil {
		return ctx, nil, fmt.Errorf("open the job queues: %w", err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	nc.SetErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
		if errors.Is(err, nats.ErrPermissionViolation) {
			cancel(ErrNotListed)
		}
	})
	return ctx, js, nil
}

// Summaries returns the summaries of all models that have a queue, by name.
func (c *Conn) Summaries(ctx context.Context) ([]Summary, error) {
	ctx, js, err := allQueues(ctx, c.NC)
	if err != nil {
		return nil, err
	}
	queues, err := queuesOf(ctx, js)
	if err != nil {
		return nil, err
	}
	var summaries []Summary
	for _, info := range queues {
		s, err := summaryOf(ctx, js, info.Config.Name)
		switch {
		case errors.Is(err, jetstream.ErrStreamNotFound): // it is being made, or was removed
			continue
		case err != nil:
			return nil, err
		}
		summaries = append(summaries, s)
	}
	slices.SortFunc(summaries, func(a, b Summary) int { return strings.Compare(a.Model, b.Model) })
	return summaries, nil
}

// Models returns the names of the models that have a queue, sorted. The connection is made.
func (c *Conn) Models(ctx context.Context) ([]string, error) {
	ctx, js, err := allQueues(ctx, c.NC)
	if err != nil {
		return nil, err
	}
	return ModelsOf(ctx, js)
}

func ModelsOf(ctx context.Context, js jetstream.JetStream) (models []string, err error) {
	queues, err := queuesOf(ctx, js)
	for _, info := range queues {
		models = append(models, owner(info.Config))
	}
	slices.Sort(models)
	return models, err
}

// queuesOf returns the streams of jobs.
func queuesOf(ctx context.Context, js jetstream.JetStream) (streams []*jetstream.StreamInfo, err error) {
	list := js.ListStreams(ctx)
	for info := range list.Info() {
		if strings.HasPrefix(info.Config.Name, jobsPrefix) {
			streams = append(streams, info)
		}
	}
	if err := list.Err(); err != nil {
		if errors.Is(context.Cause(ctx), ErrNotListed) {
			err = ErrNotListed
		}
		return nil, fmt.Errorf("list the job queues: %w", err)
	}
	return streams, nil
}

// Summary returns the state of this queue.
func (q *Store) Summary(ctx context.Context) (Summary, error) {
	return summaryOf(ctx, q.JS, q.Names.Jobs())
}

func summaryOf(ctx context.Context, js jetstream.JetStream, stream string) (s Summary, err error) {
	s.Stream = stream
	deadLetters := Names{strings.TrimPrefix(stream, jobsPrefix)}.Dead()
	jobs, err := js.Stream(ctx, stream)
	if err != nil {
		return s, fmt.Errorf("look at the stream %s: %w", stream, err)
	}
	dead, err := js.Stream(ctx, deadLetters)
	if err != nil {
		return s, fmt.Errorf("look at the stream %s: %w", deadLetters, err)
	}
	info := jobs.CachedInfo()
	s.Model, s.Stored, s.Capacity = owner(info.Config), int(info.State.Msgs), info.Config.MaxMsgs
	s.Dead = int(dead.CachedInfo().State.Msgs)
	lanes := jobs.ListConsumers(ctx)
	for lane := range lanes.Info() {
		if lane.NumPending == 0 {
			continue
		}
		s.Waiting += int(lane.NumPending)
		first, err := jobs.GetMsg(ctx, lane.Delivered.Stream+1, jetstream.WithGetMsgSubject(lane.Config.FilterSubject))
		if err == nil && (s.Oldest.IsZero() || first.Time.Before(s.Oldest)) { // else it was taken meanwhile
			s.Oldest = first.Time
		}
	}
	if err := lanes.Err(); err != nil {
		return s, fmt.Errorf("count jobs: %w", err)
	}
	return s, nil
}

// Delivery counts the jobs that no server has got yet, and those that one has or has given back. named counts the
// pending jobs that name a version, by its token.
func (q *Store) Delivery(ctx context.Context) (pending uint64, named map[string]uint64, delivered int, err error) {
	consumers := q.Jobs.ListConsumers(ctx)
	for info := range consumers.Info() {
		delivered += info.NumAckPending
		if version, ok := versionOf(info.Name); !ok {
			pending += info.NumPending
		} else if info.NumPending > 0 {
			if named == nil {
				named = map[string]uint64{}
			}
			named[version] += info.NumPending
		}
	}
	return pending, named, delivered, consumers.Err()
}
