package state

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Store is what NATS keeps of a model's queue. Safe for concurrent use.
type Store struct {
	Options Options
	Names   Names
	NC      *nats.Conn
	JS      jetstream.JetStream
	States  jetstream.Stream
	Jobs    jetstream.Stream
	Clock   Clock
	Objects Objects
}

// New returns the store of a queue, whose streams are not looked up. The connection is made.
func New(c *Conn, o Options) (*Store, error) {
	o = o.WithDefaults()
	if err := CheckModel(o.Model); err != nil {
		return nil, err
	}
	if err := CheckServer(c.NC.ConnectedServerVersion()); err != nil {
		return nil, err
	}
	js, err := jetstream.New(c.NC)
	if err != nil {
		return nil, fmt.Errorf("open the job queue: %w", err)
	}
	n := Names{o.Model}
	return &Store{Options: o, Names: n, NC: c.NC, JS: js, Objects: Objects{o, n, c.NC, js}}, nil
}

// Open opens the queue of a model, and makes its streams if none are there. The connection is made.
func Open(ctx context.Context, c *Conn, o Options) (*Store, error) {
	q, err := New(c, o)
	if err != nil {
		return nil, err
	}
	if err := Prepare(ctx, q.JS, q.Options); err != nil {
		return nil, err
	}
	asked := time.Now()
	if q.Jobs, err = q.JS.Stream(ctx, q.Names.Jobs()); err == nil {
		q.Clock.Set(asked, q.Jobs.CachedInfo().TimeStamp)
		q.States, err = q.JS.Stream(ctx, q.Names.States())
	}
	if err != nil {
		return nil, fmt.Errorf("open the job queue: %w", err)
	}
	return q, nil
}

// Stored is a state with the revision that a swap must name. Revision 0 means there is none.
type Stored struct {
	State

	Revision uint64
	Written  time.Time
}

// The headers of a bucket's entries.
const (
	headerOperation = "KV-Operation"
	operationPurge  = "PURGE"
)

// Read returns the state of a job, or a revision alone where the id is free.
func (q *Store) Read(ctx context.Context, id string) (Stored, error) {
	m, err := persist(ctx, func(ctx context.Context) (*jetstream.RawStreamMsg, error) {
		return q.States.GetLastMsgForSubject(ctx, q.Names.StateKey(id))
	})
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return Stored{}, nil
	case err != nil:
		return Stored{}, fmt.Errorf("read a job's state: %w", err)
	case m.Header.Get(headerOperation) != "" || m.Header.Get("Nats-Marker-Reason") != "":
		return Stored{Revision: m.Sequence}, nil
	}
	s := Stored{Revision: m.Sequence, Written: m.Time}
	err = q.Decode(m.Data, &s.State)
	return s, err
}

// Decode reads a state as it is stored.
func (q *Store) Decode(text []byte, s *State) error {
	if err := s.UnmarshalJSON(text); err != nil { // json.Unmarshal would check it twice
		*s = State{}
		return fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	if s.Version > stateVersion {
		return errNewer
	}
	if _, moves := StatusMoves[s.Status]; !moves && !s.Status.Ended() {
		err := fmt.Errorf("%w: its status is %.64q", ErrUnreadable, s.Status)
		*s = State{}
		return err
	}
	if err := q.Options.Keys.openState(s); err != nil {
		*s = State{}
		return fmt.Errorf("read a job's state: %w", err)
	}
	return nil
}

// Encode is the reverse of decode.
func (q *Store) Encode(s *State) ([]byte, error) {
	s.Version = stateVersion
	kept, err := q.Options.Keys.sealState(s)
	if err != nil {
		return nil, fmt.Errorf("write a job's state: %w", err)
	}
	text, err := kept.MarshalJSON() // json.Marshal would check it once more
	if err != nil {
		return nil, fmt.Errorf("write a job's state: %w", err)
	}
	return text, nil
}

// IDOf reads a state's message, and the id in its object; "" means it is not a state that this server can read.
func (q *Store) IDOf(m jetstream.Msg) (string, Stored) {
	var s Stored
	meta, err := m.Metadata()
	if err != nil || len(m.Data()) == 0 || json.Unmarshal(m.Data(), &s.State) != nil || s.Version > stateVersion ||
		q.Options.Keys.openState(&s.State) != nil {
		return "", s
	}
	s.Revision, s.Written = meta.Sequence.Stream, meta.Timestamp
	var object struct{ ID string }
	_ = json.Unmarshal(s.Prediction, &object) // without an id it is left alone
	return object.ID, s
}

// Swap writes a state after the one that was read, and returns the new revision and how it is stored. The error is
// errConflict if that is not the state any more, and ErrInDoubt if the outcome cannot be found out. mine reports
// whether a state is what this swap writes: it tells a swap whose answer was lost from one that was refused.
func (q *Store) Swap(ctx context.Context, id string, before Stored, next *State,
	mine func(*State) bool,
) (revision uint64, text []byte, err error) {
	if before.Status != "" && !StatusMoves.Allows(before.Status, next.Status) {
		return 0, nil, fmt.Errorf("a job cannot move from %s to %s", before.Status, next.Status)
	}
	if text, err = q.Encode(next); err != nil {
		return 0, nil, err
	}
	revision, err = q.Write(ctx, id, before.Revision, text, next.Status.Ended(), mine)
	return revision, text, err
}

// Write is swap with a state as it is stored.
func (q *Store) Write(ctx context.Context, id string, before uint64, text []byte, ended bool,
	mine func(*State) bool,
) (uint64, error) {
	m := nats.NewMsg(q.Names.StateKey(id))
	m.Data = text
	expectRevision(m, before)
	if ended { // a state without an end must not expire
		expireAfter(m, q.Options.ResultTTL)
	}
	revision, err := q.Insert(ctx, m)
	switch {
	case Conflict(err): // an earlier attempt may have been the one that another write met
		now, err := q.Read(ctx, id)
		switch {
		case err != nil && !IsForeign(err):
			return 0, ErrInDoubt
		case err == nil && now.Status != "" && now.Revision > before && mine(&now.State):
			return now.Revision, nil
		}
		return 0, ErrConflict
	case code(err) != 0:
		return 0, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return revision, err
}

// Purge removes the state of a job that was not accepted, unless it has changed. Its marker expires. It tries also when
// ctx has ended.
func (q *Store) Purge(ctx context.Context, id string, revision uint64) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), attemptWait)
	defer cancel()
	m := nats.NewMsg(q.Names.StateKey(id))
	m.Header.Set(headerOperation, operationPurge)
	m.Header.Set(nats.MsgRollup, nats.MsgRollupSubject)
	expectRevision(m, revision)
	expireAfter(m, time.Minute)
	_, err := q.Insert(ctx, m)
	if err != nil && !Conflict(err) {
		return fmt.Errorf("remove a job's state: %w", err)
	}
	return nil
}

// WithResult returns the state of an ended job with its result, if that was stored apart.
func (q *Store) WithResult(ctx context.Context, s State) (State, error) {
	var err error
	s.Result, err = q.Objects.LoadResult(ctx, s.Prediction)
	s.Prediction = s.Result.Object
	return s, err
}

// Pause waits, or returns the context's cause.
func Pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// OnNoAnswer is called when NATS did not answer.
func (q *Store) OnNoAnswer() {
	if q.Options.Host != nil {
		q.Options.Host.Revive()
	}
}

// Waiting returns how many jobs are stored: those that wait and those that run.
func (q *Store) Waiting(ctx context.Context) (uint64, error) {
	info, err := q.JobsInfo(ctx)
	if err != nil {
		return 0, fmt.Errorf("count jobs: %w", err)
	}
	return info.State.Msgs, nil
}

// DeleteMessage removes a message of the jobs that is still there.
func (q *Store) DeleteMessage(ctx context.Context, seq uint64) {
	if seq != 0 {
		_ = q.Jobs.DeleteMsg(ctx, seq) // else it is dropped when it is delivered
	}
}

// oldestServer is the oldest NATS that has all that is used here.
const oldestServer = "2.14"

// Remake makes the queue if it is gone, and the consumers of these versions if they are. It reports whether the queue was
// gone.
func (q *Store) Remake(ctx context.Context, versions []string) (gone bool, err error) {
	_, err = q.States.GetLastMsgForSubject(ctx, MarkKey(q.Options.Model))
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound), errors.Is(err, jetstream.ErrStreamNotFound):
		if err := Prepare(ctx, q.JS, q.Options); err != nil {
			return false, err
		}
		gone = true
	case err != nil:
		return false, fmt.Errorf("look for the job queue: %w", err)
	}
	for _, version := range versions {
		if _, err := q.MakeVersionConsumers(ctx, version); err != nil {
			return gone, err
		}
	}
	return gone, nil
}
