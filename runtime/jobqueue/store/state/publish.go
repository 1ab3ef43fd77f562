package state

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"pinion/runtime/rawjson"
)

const (
	// attemptWait is after how long without an answer NATS is asked again: a server of it that was lost does not answer,
	// and another one soon would. On a slow link the first answer may still come.
	attemptWait = 2 * time.Second
	// attemptPause is the pause after an answer that NATS cannot serve the question now.
	attemptPause = 100 * time.Millisecond
	// unboundedWait is for how long NATS is asked where the context has no end.
	unboundedWait = 5 * time.Second
)

// persist asks NATS until it answers or ctx ends: while its servers choose a leader, none does. ask may be called
// several times at once, and is to store nothing twice.
func persist[T any](ctx context.Context, ask func(context.Context) (T, error)) (T, error) {
	end := context.CancelFunc(nil)
	if _, ok := ctx.Deadline(); ok {
		ctx, end = context.WithCancel(ctx)
	} else {
		ctx, end = context.WithTimeout(ctx, unboundedWait)
	}
	defer end()
	type answer struct {
		value T
		err   error
	}
	again := make(chan answer, 1)
	repeat := time.AfterFunc(attemptWait, func() {
		value, err := persist(ctx, ask)
		again <- answer{value, err}
		end()
	})
	for {
		value, err := ask(ctx)
		switch answered := err == nil || ctx.Err() == nil && !Temporary(err); {
		case answered:
			repeat.Stop()
			return value, err
		case !repeat.Stop():
			other := <-again
			return other.value, other.err
		case Pause(ctx, attemptPause) != nil:
			return value, err
		}
		repeat.Reset(attemptWait)
	}
}

// Insert stores a message in the stream of its subject, and returns its sequence there. It may be stored before
// already: by its id, or the revision that it expects, NATS knows it. The error is ErrInDoubt if NATS did not answer,
// JetStream's if it refused, and else ErrUnavailable.
func (q *Store) Insert(ctx context.Context, m *nats.Msg) (uint64, error) {
	var inDoubt atomic.Bool
	seq, err := persist(ctx, func(ctx context.Context) (seq uint64, err error) {
		answer, err := q.NC.RequestMsgWithContext(ctx, m)
		if err == nil {
			seq, err = readAck(answer.Data)
		}
		if err != nil && code(err) == 0 && !noStream(err) {
			inDoubt.Store(true)
		}
		return seq, err
	})
	switch {
	case err == nil || code(err) != 0 && !Temporary(err):
		return seq, err
	case inDoubt.Load():
		return 0, fmt.Errorf("%w: %w", ErrInDoubt, err)
	}
	return 0, Refusal(err)
}

// readAck reads JetStream's answer to a message: its sequence, or the *jetstream.APIError of the refusal.
func readAck(text []byte) (seq uint64, err error) {
	if rawjson.Check(text) != nil {
		return 0, jetstream.ErrInvalidJSAck
	}
	for key, value := range rawjson.Members(text) {
		switch string(key) {
		case "seq":
			seq, _ = strconv.ParseUint(string(value), 10, 64) // 0 means see below
		case "error":
			var refused jetstream.APIError
			if err := json.Unmarshal(value, &refused); err != nil {
				return 0, jetstream.ErrInvalidJSAck
			}
			return 0, fmt.Errorf("nats: %w", &refused)
		}
	}
	if seq == 0 {
		return 0, jetstream.ErrInvalidJSAck
	}
	return seq, nil
}

// expectRevision makes NATS store a message only if its subject's last one has that sequence; 0 means it has none.
func expectRevision(m *nats.Msg, revision uint64) {
	m.Header.Set(jetstream.ExpectedLastSubjSeqHeader, strconv.FormatUint(revision, 10))
}

// expireAfter makes a message expire after ttl.
func expireAfter(m *nats.Msg, ttl time.Duration) { m.Header.Set(jetstream.MsgTTLHeader, ttl.String()) }
