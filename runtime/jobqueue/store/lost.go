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
// message with a disk. Such states are looked for when a client asks for one, and by one member at a time every ten
// minutes.

const (
	// lookEvery is how often all states are looked at.
	lookEvery = 10 * time.Minute

	lostByQueue = "lost by the queue: its job is not there any more"
)

// endAtRest ends a job that waits and whose deadline has passed, or whose message is lost. It returns the state as it
// is then.
func (q *Queue) endAtRest(ctx context.Context, id string, now stored, show Shower) stored {
	reason := ""
	switch {
	case now.Status == Starting && now.Deadline != 0 && q.now(ctx).UnixMilli() > now.Deadline:
		reason = PastDeadline
	case q.isLost(ctx, id, now):
		reason = lostByQueue
	default:
		return now
	}
	next := now.State
	next.Status, next.Claim = Failed, rand.Text()
	next.Prediction = show.Ended(&Job{ID: id}, &next, Failed, reason)
	revision, _, err := q.swap(ctx, id, now, &next, func(s *State) bool { return s.Claim == next.Claim })
	if err != nil {
		return now // it has moved, or NATS is away: the next look finds out
	}
	if q.hook(ctx, id, &next) == nil {
		q.deleteMessage(ctx, next.Seq) // else the message is dropped when it is delivered, and tries the webhook again
	}
	return stored{State: next, revision: revision, written: q.clock.now()}
}

// isLost reports whether no message can move a state any more.
func (q *Queue) isLost(ctx context.Context, id string, now stored) bool {
	if q.now(ctx).Sub(now.written) < q.o.lostAfter {
		return false
	}
	if now.Status == Processing {
		_, err := q.jobs.GetMsg(ctx, now.Seq)
		return errors.Is(err, jetstream.ErrMsgNotFound) && q.rest() <= 0 && !q.isHeld(ctx, id)
	}
	info, err := q.jobsInfo(ctx)
	if err != nil {
		return false
	}
	return info.State.Msgs == 0 || now.written.Add(q.o.lostAfter).Before(info.State.FirstTime)
}

// lookSubject is the key that the member has which looks at all states.
func (q *Queue) lookSubject() string { return "$KV.pinion_state_" + q.o.Model + ".look" }

// EndLost ends the jobs that cannot end by themselves, every ten minutes, until ctx ends. Of all members one does it.
func (q *Queue) EndLost(ctx context.Context, show Shower) error {
	for {
		if err := q.lookOnce(ctx, show); err != nil {
			return err
		}
		if pause(ctx, lookEvery) != nil {
			return nil
		}
	}
}

// lookOnce looks at all states, unless another member has within the last ten minutes.
func (q *Queue) lookOnce(ctx context.Context, show Shower) error {
	m := nats.NewMsg(q.lookSubject())
	m.Data = []byte(q.o.Server)
	_, err := q.js.PublishMsg(ctx, m, jetstream.WithExpectLastSequencePerSubject(0), jetstream.WithMsgTTL(lookEvery))
	switch {
	case conflict(err) || ctx.Err() != nil:
		return nil
	case err != nil:
		return fmt.Errorf("look for lost jobs: %w", err)
	}
	return q.look(ctx, show)
}

// look looks at all states.
func (q *Queue) look(ctx context.Context, show Shower) error {
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
			q.lookAt(ctx, m, show)
		}
		if n == 0 {
			return nil
		}
	}
	return nil
}

// lookAt looks at one state. Its object has the id, which the key may not have.
func (q *Queue) lookAt(ctx context.Context, m jetstream.Msg, show Shower) {
	id, now := q.idOf(m)
	if id == "" || now.Status.Ended() || q.now(ctx).Sub(now.written) < q.o.lostAfter {
		return
	}
	_, _ = q.Look(ctx, id, show)
}
