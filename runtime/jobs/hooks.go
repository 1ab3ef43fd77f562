package jobs

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// hookWait is how long a member may take for one try of a webhook. Afterwards another one tries.
const hookWait = 2 * time.Minute

// mostHooks is how many webhooks a member posts at once.
const mostHooks = 64

// Posting is the webhook of a job that has ended.
type Posting struct {
	ID    string
	Hook  Hook
	Body  []byte // the prediction object
	Tries int    // this one included
}

// SendHooks has the webhooks of ended jobs posted, those of other servers' jobs too, until ctx ends. send posts one, and returns
// after how long it is to be tried again; 0: never.
func (q *Queue) SendHooks(ctx context.Context, send func(context.Context, Posting) time.Duration) error {
	c, err := q.js.Consumer(ctx, q.names.hooks(), sender)
	if err != nil {
		return fmt.Errorf("find the consumer %s: %w", sender, err)
	}
	var all sync.WaitGroup
	defer all.Wait()
	places := make(chan struct{}, mostHooks)
	for ctx.Err() == nil {
		places <- struct{}{}
		m := pullOne(ctx, c)
		if m == nil {
			<-places
			continue
		}
		all.Add(1)
		go func() {
			defer all.Done()
			defer func() { <-places }()
			q.post(ctx, m, send)
		}()
	}
	return nil
}

// pullOne waits for a message for a while; nil: none came.
func pullOne(ctx context.Context, c jetstream.Consumer) jetstream.Msg {
	limited, cancel := context.WithTimeout(ctx, pullWait)
	defer cancel()
	batch, err := c.Fetch(1, jetstream.FetchContext(limited))
	if err != nil {
		_ = pause(ctx, time.Second)
		return nil
	}
	for m := range batch.Messages() {
		return m
	}
	if batch.Error() != nil { // NATS is away: do not ask all the time
		_ = pause(ctx, time.Second)
	}
	return nil
}

// post tries one webhook, and says what is to become of its message.
func (q *Queue) post(ctx context.Context, m jetstream.Msg, send func(context.Context, Posting) time.Duration) {
	h := m.Headers()
	p := Posting{ID: h.Get(headerID), Body: m.Data(), Tries: 1}
	hook, err := q.readHook(h)
	if err == nil {
		p.Body, err = q.o.Keys.open(sealHook, p.Body)
	}
	if err != nil { // another member may have the key
		_ = m.NakWithDelay(pullWait)
		return
	}
	if hook != nil {
		p.Hook = *hook
	}
	if meta, err := m.Metadata(); err == nil {
		p.Tries = int(meta.NumDelivered)
	}
	result, err := q.loadResult(ctx, p.Body)
	defer result.Release()
	if err != nil && !errors.Is(err, jetstream.ErrObjectNotFound) {
		_ = m.NakWithDelay(pullWait)
		return
	}
	if err == nil { // else the result has expired while its receiver was away: it gets what is left
		p.Body = result.Object
	}
	again := send(ctx, p)
	switch {
	case ctx.Err() != nil: // this member leaves: another one tries
		_ = m.Nak()
	case again > 0:
		_ = m.NakWithDelay(again)
	default:
		_ = m.Ack()
	}
}
