package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"pinion/runtime/rawjson"
)

// publishTimeout bounds a message to a stream where the context has no deadline.
const publishTimeout = 5 * time.Second

// insert stores a message in the stream of its subject, and returns its sequence there. It does what PublishMsg of
// package jetstream does, which decodes the answer by reflection.
func (q *Queue) insert(ctx context.Context, m *nats.Msg) (uint64, error) {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, publishTimeout)
		defer cancel()
	}
	answer, err := q.nc.RequestMsgWithContext(ctx, m)
	switch {
	case errors.Is(err, nats.ErrNoResponders): // perhaps the stream chooses its leader: PublishMsg tries again
		ack, err := q.js.PublishMsg(ctx, m)
		if err != nil {
			return 0, err
		}
		return ack.Sequence, nil
	case err != nil:
		return 0, err
	}
	return readAck(answer.Data)
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
