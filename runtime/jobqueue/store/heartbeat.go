package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
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
	case errors.Is(err, ErrLost):
		return Lost
	case err != nil:
		return Uncertain
	}
	// If the end is written, its webhook may still wait: until that is stored the message is this server's.
	if err := c.m.InProgress(); err != nil {
		return Uncertain
	}
	if now.Cancel && now.Status == Processing {
		return CancelAsked
	}
	return Held
}

// End writes the end of the job and then acknowledges its message. ErrLost means that another server has the job, and
// nothing was written. With any other error the end may be written or not: End can be called again with the same end,
// for as long as the job is owned.
func (c *Claim) End(ctx context.Context, status Status, prediction json.RawMessage) error {
	prediction, err := c.q.storeResult(ctx, c.State.Claim, prediction)
	if err != nil {
		return err
	}
	now, asked := stored{State: c.State, revision: c.revision}, false // most often nothing has changed since the claim
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
		if now.Cancel && status == Succeeded { // the client was told that it is canceled, before this run knew
			next.Status, next.Prediction = Canceled, c.renderer.RenderEnded(&c.Job, &next, Canceled, "")
		}
		var text []byte
		_, text, err = c.q.swap(ctx, c.Job.ID, now, &next,
			func(s *State) bool { return s.Claim == c.State.Claim && s.Status == next.Status })
		switch {
		case err == nil:
			return c.settled(ctx, &next, text)
		case !errors.Is(err, errConflict):
			return err
		}
	}
}

// settled acknowledges the message of a job whose end is written as text; nil means by an earlier call.
func (c *Claim) settled(ctx context.Context, s *State, text []byte) error {
	if len(text) > maxNotice {
		text = nil
	}
	c.notify(text)
	if c.BeforeWebhook != nil {
		c.BeforeWebhook() // may take longer than ctx
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), c.q.o.AckWait/3)
		defer cancel()
	}
	if c.q.settle(ctx, c.m, c.Job.ID, s) != settled {
		return fmt.Errorf("settle a job: %w", ErrInDoubt) // its message is delivered again, and settled then
	}
	return nil
}

// noteCancel notes the state that the member that canceled the job wrote.
func (c *Claim) noteCancel(h nats.Header) {
	if s, ok := c.q.attachedState(h); ok && s.Claim == c.State.Claim && s.Cancel {
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
		next.Status, next.Server, next.Claim, next.Prediction = Starting, "", "", prediction
		next.ModelVersion = c.Job.Version
		_, _, err = c.q.swap(ctx, c.Job.ID, now, &next,
			func(s *State) bool { return s.Status == Starting && s.Attempt == next.Attempt })
		switch {
		case err == nil:
			return c.m.NakWithDelay(c.RedeliverAfter)
		case !errors.Is(err, errConflict):
			return err
		}
	}
}

// current reads the state, or returns ErrLost.
func (c *Claim) current(ctx context.Context) (stored, error) {
	now, err := c.q.read(ctx, c.Job.ID)
	switch {
	case isForeign(err):
		return now, ErrLost
	case err != nil:
		return now, fmt.Errorf("%w: %w", ErrInDoubt, err)
	case now.Claim != c.State.Claim:
		return now, ErrLost
	}
	return now, nil
}

// graceAfterConnect is how long after this server has connected the owner of a job may still reconnect: one that
// was cut off together with it has lost nothing.
const graceAfterConnect = 10 * time.Second

// reconnectGrace returns how long this server must wait before it may take over a job of another server.
func (q *Queue) reconnectGrace() time.Duration {
	if q.o.Host != nil {
		return 0
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if n := q.nc.Stats().Reconnects; n != q.reconnects {
		q.reconnects, q.connected = n, time.Now()
	}
	return time.Until(q.connected.Add(graceAfterConnect))
}

// ownerAlive asks the owner of a job whether it has it. An owner that does not answer in time has lost it.
func (q *Queue) ownerAlive(ctx context.Context, id string) bool {
	ctx, cancel := context.WithTimeout(ctx, ownerTimeout)
	defer cancel()
	_, err := q.nc.RequestWithContext(ctx, q.names.about("held", id), nil)
	return err == nil
}

// unreadable is the id of dead letters whose message has none. No prediction can have it.
const unreadable = "/unreadable"

// deadLetter keeps the whole job for an operator, with the webhook of its end, which a retry has too.
func (q *Queue) deadLetter(ctx context.Context, m jetstream.Msg, id string, hook *Hook, reason string) error {
	id = cmp.Or(id, unreadable)
	dead := nats.NewMsg("pinion.dead." + q.o.Model + "." + token(id))
	for name, values := range m.Headers() {
		dead.Header[name] = values
	}
	set(dead.Header, headerID, id)
	dead.Header.Del(headerState)
	set(dead.Header, headerReason, reason)
	dead.Header.Set(headerSubject, m.Subject())
	if hook != nil {
		q.setHook(dead.Header, hook)
	}
	dead.Data = m.Data()
	if _, err := q.js.PublishMsg(ctx, dead); err != nil {
		return fmt.Errorf("keep a dead letter: %w", err)
	}
	q.counters.dead.Add(1)
	return nil
}
