package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"pinion/runtime/jobqueue/store/state"
)

// A state whose message is gone never ends: its admission was cut short and never repeated, or NATS has lost the
// message with a disk. Such a state is found when a client asks for it, and by one member at a time every ten
// minutes.

const (
	// reapInterval is how often all states are checked.
	reapInterval = 10 * time.Minute
	// reapLockTTL is for how long no other member checks them. NATS removes a message a little after its time, and a
	// member that is alone must find the lock gone each time.
	reapLockTTL = reapInterval - 10*time.Second

	orphanError = "lost by the queue: its job no longer exists"
)

// reap ends a job that waits and whose deadline has passed, or whose message is lost. It returns the state as it
// is then.
func (q *Queue) reap(ctx context.Context, id string, now state.Stored, renderer state.Renderer) state.Stored {
	reason := ""
	switch {
	case now.Status == state.Starting && now.Deadline != 0 && q.State.Now(ctx).UnixMilli() > now.Deadline:
		reason = state.PastDeadline
	case q.isOrphan(ctx, id, now):
		reason = orphanError
	default:
		return now
	}
	next := now.State
	next.Status, next.Claim, next.Server = state.Failed, rand.Text(), ""
	next.Prediction = renderer.RenderEnded(&state.Job{ID: id}, &next, state.Failed, reason)
	revision, _, err := q.State.Swap(ctx, id, now, &next, func(s *state.State) bool { return s.Claim == next.Claim })
	if err != nil {
		return now // it has moved, or NATS is unreachable: the next read shows
	}
	if q.State.Hook(ctx, id, &next) == nil {
		q.State.DeleteMessage(ctx, next.Seq) // else the message is dropped when it is delivered, and tries the webhook again
	}
	return state.Stored{State: next, Revision: revision, Written: q.State.Clock.Now()}
}

// isOrphan reports whether no message can move a state any more.
func (q *Queue) isOrphan(ctx context.Context, id string, now state.Stored) bool {
	if q.State.Now(ctx).Sub(now.Written) < q.State.Options.OrphanAge {
		return false
	}
	if now.Status == state.Processing {
		_, err := q.State.Jobs.GetMsg(ctx, now.Seq)
		return errors.Is(err, jetstream.ErrMsgNotFound) && q.Live.ReconnectGrace() <= 0 && !q.Live.OwnerAlive(ctx, id)
	}
	info, err := q.State.JobsInfo(ctx)
	if err != nil {
		return false
	}
	return info.State.Msgs == 0 || now.Written.Add(q.State.Options.OrphanAge).Before(info.State.FirstTime)
}

// reapLockKey returns the key of the lock of the member that checks all states.
func (q *Queue) reapLockKey() string { return "$KV.pinion_state_" + q.State.Options.Model + ".look" }

// ReapOrphans ends the jobs whose message is lost, every ten minutes, until ctx ends. Of all members, only one at a
// time does it.
func (q *Queue) ReapOrphans(ctx context.Context, renderer state.Renderer) error {
	for {
		if err := q.ReapOnce(ctx, renderer); err != nil {
			return err
		}
		if state.Pause(ctx, reapInterval) != nil {
			return nil
		}
	}
}

// ReapOnce checks all states, unless another member has within the last ten minutes.
func (q *Queue) ReapOnce(ctx context.Context, renderer state.Renderer) error {
	m := nats.NewMsg(q.reapLockKey())
	m.Data = []byte(q.State.Options.Server)
	_, err := q.State.JS.PublishMsg(ctx, m, jetstream.WithExpectLastSequencePerSubject(0),
		jetstream.WithMsgTTL(reapLockTTL))
	switch {
	case state.Conflict(err) || ctx.Err() != nil:
		return nil
	case err != nil:
		return fmt.Errorf("look for lost jobs: %w", err)
	}
	return q.reapAll(ctx, renderer)
}

// reapAll checks all states.
func (q *Queue) reapAll(ctx context.Context, renderer state.Renderer) error {
	c, err := q.State.JS.OrderedConsumer(ctx, q.State.Names.States(), jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{"$KV.pinion_state_" + q.State.Options.Model + ".id.>"},
		DeliverPolicy:  jetstream.DeliverLastPerSubjectPolicy,
	})
	if err != nil {
		return fmt.Errorf("look for lost jobs: %w", err)
	}
	for ctx.Err() == nil {
		batch, err := c.FetchNoWait(100)
		if err != nil {
			return fmt.Errorf("look for lost jobs: %w", err)
		}
		n := 0
		for m := range batch.Messages() {
			n++
			q.reapState(ctx, m, renderer)
		}
		if n == 0 {
			return nil
		}
	}
	return nil
}

// reapState checks one state. Its object has the id, which the key may not have.
func (q *Queue) reapState(ctx context.Context, m jetstream.Msg, renderer state.Renderer) {
	id, now := q.State.IDOf(m)
	if id == "" || now.Status.Ended() || q.State.Now(ctx).Sub(now.Written) < q.State.Options.OrphanAge {
		return
	}
	_, _ = q.FindState(ctx, id, renderer)
}
