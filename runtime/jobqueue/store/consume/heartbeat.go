package consume

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"pinion/runtime/jobqueue/store/live"
	"pinion/runtime/jobqueue/store/state"
)

// BeatResult is what a heartbeat learned about a job.
type BeatResult int

// The results of a heartbeat. Uncertain means that NATS did not answer. The job goes on: if another server has it by
// now, its end will be refused.
const (
	Held BeatResult = iota
	Uncertain
	CancelAsked
	Lost
)

// Beat reads the state and, while the job is owned, tells JetStream that it is still worked on.
func (c *Claim) Beat(ctx context.Context) BeatResult {
	now, err := c.current(ctx)
	switch {
	case errors.Is(err, state.ErrLost):
		return Lost
	case err != nil:
		return Uncertain
	}
	// If the end is written, its webhook may still wait: until that is stored the message is this server's.
	if err := c.M.InProgress(); err != nil {
		return Uncertain
	}
	if now.Cancel && now.Status == state.Processing {
		return CancelAsked
	}
	return Held
}

// End writes the end of the job and then acknowledges its message. ErrLost means that another server has the job, and
// nothing was written. With any other error the end may be written or not: End can be called again with the same end,
// for as long as the job is owned.
func (c *Claim) End(ctx context.Context, status state.Status, prediction json.RawMessage) error {
	prediction, err := c.Q.s.Objects.StoreResult(ctx, c.State.Claim, prediction)
	if err != nil {
		return err
	}
	now, asked := state.Stored{State: c.State, Revision: c.revision}, false // most often the claim was the last change
	if flagged := c.withCancel.Load(); flagged != nil {
		now = *flagged
	}
	for {
		if asked {
			if now, err = c.current(ctx); err != nil {
				return err
			}
		}
		asked = true
		if now.Status.Ended() { // by an earlier call, whose answer was lost
			return c.settled(ctx, &now.State, nil)
		}
		next := now.State
		next.Status, next.Prediction, next.Yielded = status, prediction, c.Yielded
		if now.Cancel && status == state.Succeeded { // the client was told that it is canceled, before this run knew
			next.Status, next.Prediction = state.Canceled, c.renderer.RenderEnded(&c.Job, &next, state.Canceled, "")
		}
		var text []byte
		_, text, err = c.Q.s.Swap(ctx, c.Job.ID, now, &next,
			func(s *state.State) bool { return s.Claim == c.State.Claim && s.Status == next.Status })
		switch {
		case err == nil:
			return c.settled(ctx, &next, text)
		case !errors.Is(err, state.ErrConflict):
			return err
		}
	}
}

// settled acknowledges the message of a job whose end is written as text; nil means by an earlier call.
func (c *Claim) settled(ctx context.Context, s *state.State, text []byte) error {
	if len(text) > live.MaxNotice {
		text = nil
	}
	c.Notify(text)
	if c.BeforeWebhook != nil {
		c.BeforeWebhook() // may take longer than ctx
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), c.Q.s.Options.AckWait/3)
		defer cancel()
	}
	if c.Q.settle(ctx, c.M, c.Job.ID, s) != Settled {
		return fmt.Errorf("settle a job: %w", state.ErrInDoubt) // its message is delivered again, and settled then
	}
	return nil
}

// noteCancel notes the state that the member that canceled the job wrote.
func (c *Claim) noteCancel(h nats.Header) {
	if s, ok := c.Q.s.AttachedState(h); ok && s.Claim == c.State.Claim && s.Cancel {
		c.withCancel.Store(&s)
	}
}

// Release gives the job back before its end, for a server that drains: the next server begins it again, and it does not
// count as lost.
func (c *Claim) Release(ctx context.Context, prediction json.RawMessage) error {
	for {
		now, err := c.current(ctx)
		if err != nil {
			return err
		}
		next := now.State
		next.Status, next.Server, next.Claim, next.Prediction = state.Starting, "", "", prediction
		next.ModelVersion = c.Job.Version
		_, _, err = c.Q.s.Swap(ctx, c.Job.ID, now, &next,
			func(s *state.State) bool { return s.Status == state.Starting && s.Attempt == next.Attempt })
		switch {
		case err == nil:
			return c.M.NakWithDelay(c.RedeliverAfter)
		case !errors.Is(err, state.ErrConflict):
			return err
		}
	}
}

// current reads the state, or returns ErrLost.
func (c *Claim) current(ctx context.Context) (state.Stored, error) {
	now, err := c.Q.s.Read(ctx, c.Job.ID)
	switch {
	case state.IsForeign(err):
		return now, state.ErrLost
	case err != nil:
		return now, fmt.Errorf("%w: %w", state.ErrInDoubt, err)
	case now.Claim != c.State.Claim:
		return now, state.ErrLost
	}
	return now, nil
}

// unreadable is the id of dead letters whose message has none. No prediction can have it.
const unreadable = "/unreadable"

// deadLetter keeps the whole job for an operator, with the webhook of its end, which a retry has too.
func (q *Consumer) deadLetter(ctx context.Context, m jetstream.Msg, id string, hook *state.Hook, reason string) error {
	id = cmp.Or(id, unreadable)
	dead := nats.NewMsg("pinion.dead." + q.s.Options.Model + "." + state.Token(id))
	for name, values := range m.Headers() {
		dead.Header[name] = values
	}
	state.Set(dead.Header, state.HeaderID, id)
	dead.Header.Del(state.HeaderState)
	state.Set(dead.Header, state.HeaderReason, reason)
	dead.Header.Set(state.HeaderSubject, m.Subject())
	if hook != nil {
		q.s.SetHook(dead.Header, hook)
	}
	dead.Data = m.Data()
	if _, err := q.s.JS.PublishMsg(ctx, dead); err != nil {
		return fmt.Errorf("keep a dead letter: %w", err)
	}
	q.counters.dead.Add(1)
	return nil
}
