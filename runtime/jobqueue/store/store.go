package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Queue is the job queue of one model. Safe for concurrent use.
type Queue struct {
	o      Options
	names  names
	nc     *nats.Conn
	js     jetstream.JetStream
	states jetstream.Stream
	jobs   jetstream.Stream

	members  membership
	counters counters
	clock    clock

	mu         sync.Mutex
	connected  time.Time // when this member was seen to have connected
	reconnects uint64    // by then
}

// oldestServer is the oldest NATS that has all that is used here.
const oldestServer = "2.14"

// Open joins the queue of a model, and makes its streams if none are there. The connection is made.
func (c *Conn) Open(ctx context.Context, o Options) (*Queue, error) { return Open(ctx, c.nc, o) }

// Open is Conn.Open with the client's connection.
func Open(ctx context.Context, nc *nats.Conn, o Options) (*Queue, error) {
	o = o.withDefaults()
	if err := CheckModel(o.Model); err != nil {
		return nil, err
	}
	if err := checkServer(nc.ConnectedServerVersion()); err != nil {
		return nil, err
	}
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, fmt.Errorf("open the job queue: %w", err)
	}
	if err := prepare(ctx, js, o); err != nil {
		return nil, err
	}
	q := &Queue{o: o, names: names{o.Model}, nc: nc, js: js, connected: time.Now(), reconnects: nc.Stats().Reconnects}
	asked := time.Now()
	if q.jobs, err = js.Stream(ctx, q.names.jobs()); err == nil {
		q.clock.set(asked, q.jobs.CachedInfo().TimeStamp)
		q.states, err = js.Stream(ctx, q.names.states())
	}
	if err != nil {
		return nil, fmt.Errorf("open the job queue: %w", err)
	}
	return q, nil
}

// Remake makes the queue if it is gone, and the consumers of these versions if they are. It reports whether the queue was
// gone.
func (q *Queue) Remake(ctx context.Context, versions []string) (gone bool, err error) {
	_, err = q.states.GetLastMsgForSubject(ctx, markKey(q.o.Model))
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound), errors.Is(err, jetstream.ErrStreamNotFound):
		if err := prepare(ctx, q.js, q.o); err != nil {
			return false, err
		}
		gone = true
	case err != nil:
		return false, fmt.Errorf("look for the job queue: %w", err)
	}
	for _, version := range versions {
		if _, err := q.makeVersionConsumers(ctx, version); err != nil {
			return gone, err
		}
	}
	return gone, nil
}

// checkServer refuses a NATS that is too old.
func checkServer(version string) error {
	var major, minor int
	if _, err := fmt.Sscanf(version, "%d.%d", &major, &minor); err != nil {
		return fmt.Errorf("the NATS server's version is %q", version)
	}
	if major < 2 || major == 2 && minor < 14 {
		return fmt.Errorf("the NATS server has version %s; the job queue needs %s or newer", version, oldestServer)
	}
	return nil
}

// stored is a state with the revision that a swap must name. Revision 0 means there is none.
type stored struct {
	State

	revision uint64
	written  time.Time
}

// The headers of a bucket's entries.
const (
	headerOperation = "KV-Operation"
	operationPurge  = "PURGE"
)

// read returns the state of a job, or a revision alone where the id is free.
func (q *Queue) read(ctx context.Context, id string) (stored, error) {
	m, err := persist(ctx, func(ctx context.Context) (*jetstream.RawStreamMsg, error) {
		return q.states.GetLastMsgForSubject(ctx, q.names.stateKey(id))
	})
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return stored{}, nil
	case err != nil:
		return stored{}, fmt.Errorf("read a job's state: %w", err)
	case m.Header.Get(headerOperation) != "" || m.Header.Get("Nats-Marker-Reason") != "":
		return stored{revision: m.Sequence}, nil
	}
	s := stored{revision: m.Sequence, written: m.Time}
	err = q.decode(m.Data, &s.State)
	return s, err
}

// decode reads a state as it is stored.
func (q *Queue) decode(text []byte, s *State) error {
	if err := s.UnmarshalJSON(text); err != nil { // json.Unmarshal would check it twice
		*s = State{}
		return fmt.Errorf("%w: %w", errUnreadable, err)
	}
	if s.Version > stateVersion {
		return errNewer
	}
	if _, moves := statusMoves[s.Status]; !moves && !s.Status.Ended() {
		err := fmt.Errorf("%w: its status is %.64q", errUnreadable, s.Status)
		*s = State{}
		return err
	}
	if err := q.o.Keys.openState(s); err != nil {
		*s = State{}
		return fmt.Errorf("read a job's state: %w", err)
	}
	return nil
}

// encode is the reverse of decode.
func (q *Queue) encode(s *State) ([]byte, error) {
	s.Version = stateVersion
	kept, err := q.o.Keys.sealState(s)
	if err != nil {
		return nil, fmt.Errorf("write a job's state: %w", err)
	}
	text, err := kept.MarshalJSON() // json.Marshal would check it once more
	if err != nil {
		return nil, fmt.Errorf("write a job's state: %w", err)
	}
	return text, nil
}

// idOf reads a state's message, and the id in its object; "" means it is not a state that this server can read.
func (q *Queue) idOf(m jetstream.Msg) (string, stored) {
	var s stored
	meta, err := m.Metadata()
	if err != nil || len(m.Data()) == 0 || json.Unmarshal(m.Data(), &s.State) != nil || s.Version > stateVersion ||
		q.o.Keys.openState(&s.State) != nil {
		return "", s
	}
	s.revision, s.written = meta.Sequence.Stream, meta.Timestamp
	var object struct{ ID string }
	_ = json.Unmarshal(s.Prediction, &object) // without an id it is left alone
	return object.ID, s
}

// swap writes a state after the one that was read, and returns the new revision and how it is stored. The error is
// errConflict if that is not the state any more, and ErrInDoubt if the outcome cannot be found out. mine reports
// whether a state is what this swap writes: it tells a swap whose answer was lost from one that was refused.
func (q *Queue) swap(ctx context.Context, id string, before stored, next *State,
	mine func(*State) bool,
) (revision uint64, text []byte, err error) {
	if before.Status != "" && !statusMoves.Allows(before.Status, next.Status) {
		return 0, nil, fmt.Errorf("a job cannot move from %s to %s", before.Status, next.Status)
	}
	if text, err = q.encode(next); err != nil {
		return 0, nil, err
	}
	revision, err = q.write(ctx, id, before.revision, text, next.Status.Ended(), mine)
	return revision, text, err
}

// write is swap with a state as it is stored.
func (q *Queue) write(ctx context.Context, id string, before uint64, text []byte, ended bool,
	mine func(*State) bool,
) (uint64, error) {
	m := nats.NewMsg(q.names.stateKey(id))
	m.Data = text
	expectRevision(m, before)
	if ended { // a state without an end must not expire
		expireAfter(m, q.o.ResultTTL)
	}
	revision, err := q.insert(ctx, m)
	switch {
	case conflict(err): // an earlier attempt may have been the one that another write met
		now, err := q.read(ctx, id)
		switch {
		case err != nil && !isForeign(err):
			return 0, ErrInDoubt
		case err == nil && now.Status != "" && now.revision > before && mine(&now.State):
			return now.revision, nil
		}
		return 0, errConflict
	case code(err) != 0:
		return 0, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return revision, err
}

// purge removes the state of a job that was not accepted, unless it has changed. Its marker expires. It tries also when
// ctx has ended.
func (q *Queue) purge(ctx context.Context, id string, revision uint64) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), attemptWait)
	defer cancel()
	m := nats.NewMsg(q.names.stateKey(id))
	m.Header.Set(headerOperation, operationPurge)
	m.Header.Set(nats.MsgRollup, nats.MsgRollupSubject)
	expectRevision(m, revision)
	expireAfter(m, time.Minute)
	_, err := q.insert(ctx, m)
	if err != nil && !conflict(err) {
		return fmt.Errorf("remove a job's state: %w", err)
	}
	return nil
}

// Find returns the state of a job, which the caller releases, or ErrUnknown. A job that cannot end by itself any more
// ends now; see reap.
func (q *Queue) Find(ctx context.Context, id string, renderer Renderer) (State, error) {
	s, err := q.FindState(ctx, id, renderer)
	if err == nil && s.Status.Ended() {
		return q.withResult(ctx, s)
	}
	return s, err
}

// withResult returns the state of an ended job with its result, if that was stored apart.
func (q *Queue) withResult(ctx context.Context, s State) (State, error) {
	var err error
	s.result, err = q.loadResult(ctx, s.Prediction)
	s.Prediction = s.result.Object
	return s, err
}

// FindState is Find without a large result.
func (q *Queue) FindState(ctx context.Context, id string, renderer Renderer) (State, error) {
	s, err := q.findStored(ctx, id, renderer)
	return s.State, err
}

// findStored is FindState with the revision.
func (q *Queue) findStored(ctx context.Context, id string, renderer Renderer) (stored, error) {
	s, err := q.read(ctx, id)
	switch {
	case err == nil && s.Status == "", errors.Is(err, errUnreadable): // its clients would wait forever
		return s, ErrUnknown
	case err != nil, s.Status.Ended():
		return s, err
	}
	return q.reap(ctx, id, s, renderer), nil
}

// pause waits, or returns the context's cause.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
