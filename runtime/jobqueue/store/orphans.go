package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
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
func (q *Queue) reap(ctx context.Context, id string, now stored, renderer Renderer) stored {
	reason := ""
	switch {
	case now.Status == Starting && now.Deadline != 0 && q.now(ctx).UnixMilli() > now.Deadline:
		reason = PastDeadline
	case q.isOrphan(ctx, id, now):
		reason = orphanError
	default:
		return now
	}
	next := now.State
	next.Status, next.Claim, next.Server = Failed, rand.Text(), ""
	next.Prediction = renderer.RenderEnded(&Job{ID: id}, &next, Failed, reason)
	revision, _, err := q.swap(ctx, id, now, &next, func(s *State) bool { return s.Claim == next.Claim })
	if err != nil {
		return now // it has moved, or NATS is unreachable: the next read shows
	}
	if q.hook(ctx, id, &next) == nil {
		q.deleteMessage(ctx, next.Seq) // else the message is dropped when it is delivered, and tries the webhook again
	}
	return stored{State: next, revision: revision, written: q.clock.now()}
}

// isOrphan reports whether no message can move a state any more.
func (q *Queue) isOrphan(ctx context.Context, id string, now stored) bool {
	if q.now(ctx).Sub(now.written) < q.o.orphanAge {
		return false
	}
	if now.Status == Processing {
		_, err := q.jobs.GetMsg(ctx, now.Seq)
		return errors.Is(err, jetstream.ErrMsgNotFound) && q.reconnectGrace() <= 0 && !q.ownerAlive(ctx, id)
	}
	info, err := q.jobsInfo(ctx)
	if err != nil {
		return false
	}
	return info.State.Msgs == 0 || now.written.Add(q.o.orphanAge).Before(info.State.FirstTime)
}

// reapLockKey returns the key of the lock of the member that checks all states.
func (q *Queue) reapLockKey() string { return "$KV.pinion_state_" + q.o.Model + ".look" }

// ReapOrphans ends the jobs whose message is lost, every ten minutes, until ctx ends. Of all members, only one at a
// time does it.
func (q *Queue) ReapOrphans(ctx context.Context, renderer Renderer) error {
	for {
		if err := q.reapOnce(ctx, renderer); err != nil {
			return err
		}
		if pause(ctx, reapInterval) != nil {
			return nil
		}
	}
}

// reapOnce checks all states, unless another member has within the last ten minutes.
func (q *Queue) reapOnce(ctx context.Context, renderer Renderer) error {
	m := nats.NewMsg(q.reapLockKey())
	m.Data = []byte(q.o.Server)
	_, err := q.js.PublishMsg(ctx, m, jetstream.WithExpectLastSequencePerSubject(0), jetstream.WithMsgTTL(reapLockTTL))
	switch {
	case conflict(err) || ctx.Err() != nil:
		return nil
	case err != nil:
		return fmt.Errorf("look for lost jobs: %w", err)
	}
	return q.reapAll(ctx, renderer)
}

// reapAll checks all states.
func (q *Queue) reapAll(ctx context.Context, renderer Renderer) error {
	c, err := q.js.OrderedConsumer(ctx, q.names.states(), jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{"$KV.pinion_state_" + q.o.Model + ".id.>"},
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
func (q *Queue) reapState(ctx context.Context, m jetstream.Msg, renderer Renderer) {
	id, now := q.idOf(m)
	if id == "" || now.Status.Ended() || q.now(ctx).Sub(now.written) < q.o.orphanAge {
		return
	}
	_, _ = q.FindState(ctx, id, renderer)
}
