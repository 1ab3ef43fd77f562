package state

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// ObjectFrom is the size in bytes from which a body or a result is an object: the servers of NATS hold messages in
	// memory.
	ObjectFrom = 512 << 10
	// objectPrefix begins the value of headerBody.
	objectPrefix = "obj/"

	// MaxObject is the largest body or result in bytes. Larger ones are URLs.
	MaxObject = 100 << 20
)

func (n Names) Bodies() string  { return "pinion_body_" + n.Model }
func (n Names) Results() string { return "pinion_result_" + n.Model }

// objects returns the stream of a bucket of objects, which are kept for life.
func (o Options) objects(bucket string, life time.Duration) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: "OBJ_" + bucket, Subjects: []string{"$O." + bucket + ".C.>", "$O." + bucket + ".M.>"},
		Retention: jetstream.LimitsPolicy, Storage: jetstream.FileStorage, Replicas: o.Replicas,
		Discard: jetstream.DiscardNew, MaxMsgsPerSubject: -1, MaxMsgs: -1, MaxBytes: -1, MaxAge: life, Duplicates: duplicates,
		AllowRollup: true,
	}
}

// Objects are the bodies and results of a queue that are too large for a message.
type Objects struct {
	options Options
	names   Names
	nc      *nats.Conn
	js      jetstream.JetStream
}

// isLarge reports whether data must be an object.
func (q *Objects) isLarge(data []byte) bool {
	return len(data) > min(ObjectFrom, int(q.nc.MaxPayload()/2))
}

// put stores an object.
func (q *Objects) put(ctx context.Context, bucket, key string, data []byte) error {
	for {
		store, err := q.js.ObjectStore(ctx, bucket)
		if err == nil {
			_, err = store.Put(ctx, jetstream.ObjectMeta{Name: key}, &upload{ctx: ctx, nc: q.nc, data: data, window: 2})
		}
		switch {
		case err == nil:
			return nil
		case !Temporary(err) || Pause(ctx, attemptPause) != nil:
			return fmt.Errorf("store an object: %w", err)
		}
	}
}

// get reads an object. The error is jetstream.ErrObjectNotFound where it is gone. charge, if set, is called with its
// size before it takes memory.
func (q *Objects) get(ctx context.Context, bucket, key string, charge func(size int64) error) ([]byte, error) {
	store, err := persist(ctx, func(ctx context.Context) (jetstream.ObjectStore, error) {
		return q.js.ObjectStore(ctx, bucket)
	})
	if err != nil {
		return nil, fmt.Errorf("read an object: %w", err)
	}
	info, err := persist(ctx, func(ctx context.Context) (*jetstream.ObjectInfo, error) { return store.GetInfo(ctx, key) })
	if err != nil {
		return nil, fmt.Errorf("read an object: %w", err)
	}
	if charge != nil {
		if err := charge(int64(info.Size)); err != nil {
			return nil, fmt.Errorf("read an object of %d bytes: %w", info.Size, err)
		}
	}
	data, err := readObject(ctx, store, key, info.Size)
	if err != nil {
		return nil, fmt.Errorf("read an object: %w", err)
	}
	return data, nil
}

func readObject(ctx context.Context, store jetstream.ObjectStore, key string, size uint64) ([]byte, error) {
	from, err := store.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	data := make([]byte, size)
	if _, err := io.ReadFull(download{ctx, from}, data); err != nil {
		return nil, err
	}
	if n, err := from.Read(make([]byte, 1)); n > 0 || err != io.EOF { // its end checks the digest
		return nil, cmp.Or(err, io.ErrUnexpectedEOF)
	}
	return data, nil
}

// DropBody removes the body of a job that has ended. Where that fails, it expires.
func (q *Objects) DropBody(h nats.Header) {
	key, ok := strings.CutPrefix(h.Get(HeaderBody), objectPrefix)
	if !ok {
		return
	}
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if store, err := q.js.ObjectStore(ctx, q.names.Bodies()); err == nil {
			_ = store.Delete(ctx, key)
		}
	}()
}

// StoreBody moves a large body out of a job's message.
func (q *Objects) StoreBody(ctx context.Context, m *nats.Msg, key string) error {
	if !q.isLarge(m.Data) {
		return nil
	}
	if err := q.put(ctx, q.names.Bodies(), key, m.Data); err != nil {
		return err
	}
	m.Data = nil
	m.Header.Set(HeaderBody, objectPrefix+key)
	return nil
}

// LoadBody reads the body of a job. The error is jetstream.ErrObjectNotFound where it is gone, and errNoMemory where it
// does not fit into the memory budget now. charged bytes are the caller's to free.
func (q *Objects) LoadBody(ctx context.Context, m jetstream.Msg, j *Job) (charged int64, err error) {
	data := j.Body
	if key, ok := strings.CutPrefix(m.Headers().Get(HeaderBody), objectPrefix); ok {
		if data, charged, err = q.getCharged(ctx, q.names.Bodies(), key); err != nil {
			return 0, err
		}
	}
	if j.Body, err = q.options.Keys.Open(SealBody, data); err != nil {
		q.Free(charged)
		return 0, err
	}
	return charged, nil
}

// Reference is the prediction object of a state that is an object.
type Reference struct {
	Key string `json:"obj"`
}

// StoreResult returns what a state has for a prediction object: itself, or where it is stored.
func (q *Objects) StoreResult(ctx context.Context, key string, prediction json.RawMessage) (json.RawMessage, error) {
	if !q.isLarge(prediction) {
		return prediction, nil
	}
	if err := q.put(ctx, q.names.Results(), key, q.options.Keys.Seal(sealResult, prediction)); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInDoubt, err)
	}
	return json.Marshal(Reference{key})
}

// Memory is where large bodies and results are charged while a member has them; *memory.Budget is one.
type Memory interface {
	// Wait charges n bytes, and waits for them at most that long or until stop is closed.
	Wait(n int64, most time.Duration, stop <-chan struct{}) error
	Free(n int64)
	// Max returns the largest charge.
	Max() int64
}

// memoryWait is how long an object waits for memory.
const memoryWait = 10 * time.Second

// Result is a prediction object. Release it after its last use.
type Result struct {
	Object json.RawMessage
	free   func()
}

// Release frees the memory of the object.
func (r *Result) Release() {
	if r.free != nil {
		r.free()
		r.free = nil
	}
}

// ErrNoMemory means that an object does not fit into the memory budget now.
var ErrNoMemory = errors.New("not enough memory now")

// getCharged is get within the memory budget. Twice the size is charged, which the caller frees: parts of an object
// wait in the client of NATS while it is read, and then it is opened or parsed. One that is larger than half of the
// budget takes all of it.
func (q *Objects) getCharged(ctx context.Context, bucket, key string) (data []byte, charged int64, err error) {
	data, err = q.get(ctx, bucket, key, func(size int64) error {
		if q.options.Memory == nil {
			return nil
		}
		n := min(2*size, q.options.Memory.Max())
		if err := q.options.Memory.Wait(n, memoryWait, ctx.Done()); err != nil {
			return fmt.Errorf("%w: %w", ErrNoMemory, err)
		}
		charged = n
		return nil
	})
	if err != nil {
		q.Free(charged)
		return nil, 0, err
	}
	return data, charged, nil
}

// Free frees memory that getCharged charged.
func (q *Objects) Free(charged int64) {
	if charged > 0 {
		q.options.Memory.Free(charged)
	}
}

// LoadResult is the reverse of storeResult. The result's memory is charged until it is released.
func (q *Objects) LoadResult(ctx context.Context, prediction json.RawMessage) (r Result, err error) {
	var at Reference
	if len(prediction) > 128 || json.Unmarshal(prediction, &at) != nil || at.Key == "" {
		return Result{Object: prediction}, nil
	}
	data, charged, err := q.getCharged(ctx, q.names.Results(), at.Key)
	if err != nil {
		return Result{}, err
	}
	if r.Object, err = q.options.Keys.Open(sealResult, data); err != nil {
		q.Free(charged)
		return Result{}, err
	}
	kept := min(int64(len(data)), charged)
	q.Free(charged - kept)
	r.free = func() { q.Free(kept) }
	return r, nil
}
