package consume

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"pinion/runtime/jobqueue/store/state"
)

// hookWait is how long the result of a webhook may take to be read.
const hookWait = 2 * time.Minute

// maxHooks is how many webhooks a member posts at once.
const maxHooks = 64

// Posting is the webhook of a job that has ended.
type Posting struct {
	ID    string
	Hook  state.Hook
	Body  []byte // the prediction object
	Tries int    // this one included
}

// SendHooks has the webhooks of ended jobs posted, those of other servers' jobs too, until ctx ends. send posts one,
// and returns after how long it is to be tried again; 0 means never.
func (q *Consumer) SendHooks(ctx context.Context, send func(context.Context, Posting) time.Duration) error {
	c, err := q.s.JS.Consumer(ctx, q.s.Names.Hooks(), state.Sender)
	if err != nil {
		return fmt.Errorf("find the consumer %s: %w", state.Sender, err)
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	permits := make(chan struct{}, maxHooks)
	for ctx.Err() == nil {
		permits <- struct{}{}
		m := PullOne(ctx, c)
		if m == nil {
			<-permits
			continue
		}
		wg.Go(func() {
			defer func() { <-permits }()
			q.post(ctx, m, send)
		})
	}
	return nil
}

// PullOne waits for a message for a while; nil means none came.
func PullOne(ctx context.Context, c jetstream.Consumer) jetstream.Msg {
	limited, cancel := context.WithTimeout(ctx, pullWait)
	defer cancel()
	batch, err := c.Fetch(1, jetstream.FetchContext(limited))
	if err != nil {
		_ = state.Pause(ctx, time.Second)
		return nil
	}
	for m := range batch.Messages() {
		return m
	}
	if batch.Error() != nil { // NATS is unreachable: do not spin
		_ = state.Pause(ctx, time.Second)
	}
	return nil
}

// post tries one webhook, and acknowledges its message or has it delivered again.
func (q *Consumer) post(ctx context.Context, m jetstream.Msg, send func(context.Context, Posting) time.Duration) {
	stop := q.keepAlive(m)
	retryAfter := q.Try(ctx, m, send)
	stop() // a late keepalive would change when the message comes again
	switch {
	case ctx.Err() != nil: // this member leaves: another one tries
		_ = m.NakWithDelay(time.Millisecond) // stored, unlike one without a delay: NATS may end too
	case retryAfter > 0:
		_ = m.NakWithDelay(retryAfter)
	default:
		_ = m.Ack()
	}
}

// keepAlive keeps the message of a webhook that is being posted until stop is called: if this member is lost, another
// one gets the message after AckWait, as with jobs.
func (q *Consumer) keepAlive(m jetstream.Msg) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var beats sync.WaitGroup
	beats.Go(func() {
		for state.Pause(ctx, q.s.Options.AckWait/3) == nil {
			_ = m.InProgress()
		}
	})
	return func() {
		cancel()
		beats.Wait()
	}
}

// Try tries one webhook, and returns after how long it is to be tried again; 0 means never.
func (q *Consumer) Try(ctx context.Context, m jetstream.Msg,
	send func(context.Context, Posting) time.Duration,
) (retryAfter time.Duration) {
	h := m.Headers()
	p := Posting{ID: state.Get(h, state.HeaderID), Body: m.Data(), Tries: 1}
	hook, err := q.s.ReadHook(h)
	if err == nil {
		p.Body, err = q.s.Options.Keys.Open(state.SealHook, p.Body)
	}
	if err != nil { // another member may have the key
		return pullWait
	}
	if hook != nil {
		p.Hook = *hook
	}
	if meta, err := m.Metadata(); err == nil {
		p.Tries = int(meta.NumDelivered)
	}
	limited, cancel := context.WithTimeout(ctx, hookWait)
	defer cancel()
	result, err := q.s.Objects.LoadResult(limited, p.Body)
	defer result.Release()
	if err != nil && !errors.Is(err, jetstream.ErrObjectNotFound) {
		return pullWait
	}
	if err == nil { // else the result has expired while its receiver was away: it gets what is left
		p.Body = result.Object
	}
	return send(ctx, p)
}
