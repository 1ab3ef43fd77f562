package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// objectFrom is the size in bytes from which a body or a result is an object: the servers of NATS hold messages in memory.
	objectFrom = 512 << 10
	// objectPrefix begins the value of headerBody.
	objectPrefix = "obj/"

	// MostObject is the largest body or result in bytes. Larger ones are URLs.
	MostObject = 100 << 20
)

func (n names) bodies() string  { return "pinion_body_" + n.model }
func (n names) results() string { return "pinion_result_" + n.model }

// objects is the stream of a bucket of objects, which live for that long.
func (o Options) objects(bucket string, life time.Duration) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: "OBJ_" + bucket, Subjects: []string{"$O." + bucket + ".C.>", "$O." + bucket + ".M.>"},
		Retention: jetstream.LimitsPolicy, Storage: jetstream.FileStorage, Replicas: o.Replicas,
		Discard: jetstream.DiscardNew, MaxMsgsPerSubject: -1, MaxMsgs: -1, MaxBytes: -1, MaxAge: life, Duplicates: duplicates,
		AllowRollup: true,
	}
}

// isLarge reports whether data must be an object.
func (q *Queue) isLarge(data []byte) bool {
	return len(data) > min(objectFrom, int(q.nc.MaxPayload()/2))
}

// TransferTime is how much longer than usual NATS may take for that many bytes.
func TransferTime(size int) time.Duration { return time.Duration(size) * time.Second / (4 << 20) }

// put stores an object.
func (q *Queue) put(ctx context.Context, bucket, key string, data []byte) error {
	store, err := q.js.ObjectStore(ctx, bucket)
	if err == nil {
		_, err = store.PutBytes(ctx, key, data)
	}
	if err != nil {
		return fmt.Errorf("store an object: %w", err)
	}
	return nil
}

// get reads an object. The error is jetstream.ErrObjectNotFound where it is gone.
func (q *Queue) get(ctx context.Context, bucket, key string) ([]byte, error) {
	store, err := q.js.ObjectStore(ctx, bucket)
	if err != nil {
		return nil, fmt.Errorf("read an object: %w", err)
	}
	data, err := store.GetBytes(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("read an object: %w", err)
	}
	return data, nil
}

// dropBody removes the body of a job that has ended. Where that fails, it expires.
func (q *Queue) dropBody(h nats.Header) {
	key, ok := strings.CutPrefix(h.Get(headerBody), objectPrefix)
	if !ok {
		return
	}
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if store, err := q.js.ObjectStore(ctx, q.names.bodies()); err == nil {
			_ = store.Delete(ctx, key)
		}
	}()
}

// storeBody moves a large body out of a job's message.
func (q *Queue) storeBody(ctx context.Context, m *nats.Msg, key string) error {
	if !q.isLarge(m.Data) {
		return nil
	}
	if err := q.put(ctx, q.names.bodies(), key, m.Data); err != nil {
		return err
	}
	m.Data = nil
	m.Header.Set(headerBody, objectPrefix+key)
	return nil
}

// loadBody reads the body of a job that is an object.
func (q *Queue) loadBody(ctx context.Context, m jetstream.Msg, j *Job) (gone bool, err error) {
	key, ok := strings.CutPrefix(m.Headers().Get(headerBody), objectPrefix)
	if !ok {
		return false, nil
	}
	j.Body, err = q.get(ctx, q.names.bodies(), key)
	return errors.Is(err, jetstream.ErrObjectNotFound), err
}

// reference is the prediction object of a state that is an object.
type reference struct {
	Key string `json:"obj"`
}

// storeResult returns what a state has for a prediction object: itself, or where it is stored.
func (q *Queue) storeResult(ctx context.Context, key string, prediction json.RawMessage) (json.RawMessage, error) {
	if !q.isLarge(prediction) {
		return prediction, nil
	}
	if err := q.put(ctx, q.names.results(), key, q.o.Keys.seal(sealResult, prediction)); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInDoubt, err)
	}
	return json.Marshal(reference{key})
}

// loadResult is the opposite.
func (q *Queue) loadResult(ctx context.Context, prediction json.RawMessage) (json.RawMessage, error) {
	var at reference
	if len(prediction) > 128 || json.Unmarshal(prediction, &at) != nil || at.Key == "" {
		return prediction, nil
	}
	data, err := q.get(ctx, q.names.results(), at.Key)
	if err != nil {
		return nil, err
	}
	return q.o.Keys.open(sealResult, data)
}
