package admin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"pinion/runtime/jobqueue/store"
	"pinion/runtime/jobqueue/store/state"
)

// Admin looks at the queue of a model and repairs it, for an operator. It is not a member: it makes no stream, runs no
// job, and takes the settings as they are.
type Admin struct {
	Q    *store.Queue
	dead jetstream.Stream
}

// NoQueueError means that the model has no queue at this NATS.
type NoQueueError struct {
	Model string
	Known []string // the models that have one
}

func (e *NoQueueError) Error() string {
	if len(e.Known) == 0 {
		return fmt.Sprintf("the model %s has no job queue, and no other model has: check the address of NATS", e.Model)
	}
	return fmt.Sprintf("the model %s has no job queue: these models have: %s", e.Model,
		strings.Join(e.Known, ", "))
}

// Open opens the queue of a model for an operator. ttl is how long the end of a job is known that the operator cancels;
// 0 means the default. keys are those of the queue's members. The connection is made.
func Open(ctx context.Context, c *state.Conn, model string, ttl time.Duration, keys *state.Keys) (*Admin, error) {
	s, err := state.New(c, state.Options{Model: state.QueueName(model), ResultTTL: ttl, Keys: keys})
	if err != nil {
		return nil, err
	}
	a := &Admin{Q: store.Of(s)}
	for _, part := range []struct {
		name string
		to   *jetstream.Stream
	}{
		{a.Q.State.Names.Jobs(), &a.Q.State.Jobs},
		{a.Q.State.Names.States(), &a.Q.State.States},
		{a.Q.State.Names.Dead(), &a.dead},
	} {
		stream, err := s.JS.Stream(ctx, part.name)
		switch {
		case errors.Is(err, jetstream.ErrStreamNotFound) && part.to == &a.Q.State.Jobs:
			known, _ := state.ModelsOf(ctx, s.JS) // NATS may not let this user list them
			return nil, &NoQueueError{model, known}
		case errors.Is(err, jetstream.ErrStreamNotFound):
			return nil, &state.MismatchError{Stream: "the stream " + part.name}
		case err != nil:
			return nil, fmt.Errorf("open the job queue: %w", err)
		}
		*part.to = stream
	}
	if _, err := a.Q.State.JobsInfo(ctx); err != nil { // notes the time of NATS
		return nil, err
	}
	return a, nil
}

// Entry is a job that was accepted and has not ended.
type Entry struct {
	ID          string
	Class       state.Class
	Lane        int
	Tenant      string // or its hash, as in subjects
	Accepted    time.Time
	Bytes       int // of its body
	ContentType string
	State       state.State
}

// Letter is a dead letter: a job that failed for good though no server ended it.
type Letter struct {
	ID       string
	Reason   string
	Died     time.Time
	Bytes    int
	Attempts int
}

// Jobs returns the oldest jobs that are stored, of one class or ("") of all, and of one status or ("") of both:
// Starting is one that waits. limit is how many; 0 means all.
func (a *Admin) Jobs(ctx context.Context, class state.Class, status state.Status, limit int) ([]Entry, error) {
	if class == "" {
		return a.jobs(ctx, ">", status, limit)
	}
	entries, err := a.jobs(ctx, string(class)+".>", status, limit)
	if err != nil {
		return nil, err
	}
	named, err := a.jobs(ctx, state.AtVersion+".*."+string(class)+".>", status, limit) // a version of the model
	entries = append(entries, named...)
	slices.SortStableFunc(entries, func(x, y Entry) int { return x.Accepted.Compare(y.Accepted) })
	if limit > 0 && len(entries) > limit {
		entries = entries[:limit]
	}
	return entries, err
}

// jobs returns the jobs whose subjects end in subjects.
func (a *Admin) jobs(ctx context.Context, subjects string, status state.Status, limit int) (entries []Entry, err error) {
	err = walk(ctx, a.Q.State.Jobs, 1, "pinion.job."+a.Q.State.Options.Model+"."+subjects,
		func(m *jetstream.RawStreamMsg) (bool, error) {
			e, err := a.entry(ctx, m)
			if err == nil && !e.State.Status.Ended() && (status == "" || e.State.Status == status) {
				entries = append(entries, e)
			}
			return limit == 0 || len(entries) < limit, err
		})
	return entries, err
}

// entry reads a job's message, and its state.
func (a *Admin) entry(ctx context.Context, m *jetstream.RawStreamMsg) (Entry, error) {
	e := Entry{
		ID: state.Get(m.Header, state.HeaderID), Accepted: m.Time, Bytes: len(m.Data),
		ContentType: state.Get(m.Header, state.HeaderContentType),
	}
	if at, ok := readSubject(m.Subject); ok {
		e.Class, e.Lane, e.Tenant = at.class, at.lane, at.tenant
	}
	now, err := a.Q.State.Read(ctx, e.ID)
	if err != nil && !state.IsForeign(err) {
		return e, err
	}
	e.State = now.State
	return e, nil
}

// place is where a job waits, as the subject of its message says.
type place struct {
	class  state.Class
	lane   int // 0 for a job that names a version
	tenant string
}

func readSubject(subject string) (at place, ok bool) {
	parts := strings.Split(subject, ".")
	switch {
	case len(parts) == 6:
		at.class = state.Class(parts[3])
		at.lane, _ = strconv.Atoi(parts[4])
	case len(parts) == 7 && parts[3] == state.AtVersion:
		at.class = state.Class(parts[5])
	default:
		return at, false
	}
	if at.tenant = parts[len(parts)-1]; at.tenant == state.Token("") {
		at.tenant = ""
	}
	return at, true
}

// Letters returns the oldest dead letters; limit 0 means all.
func (a *Admin) Letters(ctx context.Context, limit int) ([]Letter, error) {
	var letters []Letter
	err := walk(ctx, a.dead, 1, a.letterSubject("*"), func(m *jetstream.RawStreamMsg) (bool, error) {
		letters = append(letters, readLetter(m))
		return limit == 0 || len(letters) < limit, nil
	})
	return letters, err
}

func (a *Admin) letterSubject(token string) string {
	return "pinion.dead." + a.Q.State.Options.Model + "." + token
}

func readLetter(m *jetstream.RawStreamMsg) Letter {
	attempts, _ := strconv.Atoi(m.Header.Get(state.HeaderAttempts)) // 0 is for a message that no member wrote
	return Letter{
		ID: state.Get(m.Header, state.HeaderID), Reason: state.Get(m.Header, state.HeaderReason), Died: m.Time,
		Bytes:    len(m.Data),
		Attempts: attempts,
	}
}

// walk calls f with the messages of a subject from a sequence number on, until it returns false. A work queue has no
// consumer for readers, so each message is a request.
func walk(ctx context.Context, s jetstream.Stream, seq uint64, subject string,
	f func(*jetstream.RawStreamMsg) (bool, error),
) error {
	for {
		m, err := s.GetMsg(ctx, seq, jetstream.WithGetMsgSubject(subject))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the job queue: %w", err)
		}
		seq = m.Sequence + 1
		if more, err := f(m); !more || err != nil {
			return err
		}
	}
}

// Job returns the state of a job that is known, its message while it is stored, and its dead letter, as far as they
// exist. If none does, the error is ErrUnknown.
func (a *Admin) Job(ctx context.Context, id string) (*state.State, *Entry, *Letter, error) {
	now, err := a.Q.State.Read(ctx, id)
	if err != nil && !state.IsForeign(err) {
		return nil, nil, nil, err
	}
	result, err := a.Q.State.Objects.LoadResult(ctx, now.Prediction)
	switch {
	case err == nil:
		now.Prediction, now.Result = result.Object, result
	case !errors.Is(err, jetstream.ErrObjectNotFound): // else it has expired, and the state will
		return nil, nil, nil, err
	}
	letter, err := a.letter(ctx, id)
	if err != nil {
		return nil, nil, nil, err
	}
	switch {
	case now.Status == "" && letter == nil:
		return nil, nil, nil, state.ErrUnknown
	case now.Status == "":
		return nil, nil, letter, nil
	case now.Seq == 0 || now.Status.Ended():
		return &now.State, nil, letter, nil
	}
	m, err := a.Q.State.Jobs.GetMsg(ctx, now.Seq)
	if err != nil { // it has ended meanwhile
		return &now.State, nil, letter, nil
	}
	e, err := a.entry(ctx, m)
	return &now.State, &e, letter, err
}

// letter returns the last dead letter of an id, or nil.
func (a *Admin) letter(ctx context.Context, id string) (*Letter, error) {
	m, err := a.dead.GetLastMsgForSubject(ctx, a.letterSubject(state.Token(id)))
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read the dead letters: %w", err)
	}
	l := readLetter(m)
	return &l, nil
}

// Cancel is Queue.Cancel.
func (a *Admin) Cancel(ctx context.Context, id string, renderer state.Renderer) (bool, error) {
	return a.Q.Cancel(ctx, id, "", renderer)
}

// Purge removes the dead letters of an id, or ("") all, and returns how many there were.
func (a *Admin) Purge(ctx context.Context, id string) (int, error) {
	subject := a.letterSubject("*")
	if id != "" {
		subject = a.letterSubject(state.Token(id))
	}
	before, err := a.dead.Info(ctx, jetstream.WithSubjectFilter(subject))
	if err != nil {
		return 0, fmt.Errorf("count the dead letters: %w", err)
	}
	count := 0
	for _, n := range before.State.Subjects {
		count += int(n)
	}
	if count == 0 {
		return 0, nil
	}
	if err := a.dead.Purge(ctx, jetstream.WithPurgeSubject(subject)); err != nil {
		return 0, fmt.Errorf("remove dead letters: %w", err)
	}
	return count, nil
}

// Counts are the figures of a queue.
type Counts struct {
	Stored, Dead    int   // jobs that wait or run, and dead letters
	Capacity, Bytes int64 // bounds
	StoredBytes     uint64
	Lanes           []LaneCount
}

// LaneCount is the figures of a class of a lane. A job that a server gave back counts as delivered until the next one
// has it.
type LaneCount struct {
	Name               string
	Pending, Delivered int
}

// Count returns the figures of the queue.
func (a *Admin) Count(ctx context.Context) (Counts, error) {
	info, err := a.Q.State.Jobs.Info(ctx)
	if err != nil {
		return Counts{}, fmt.Errorf("count jobs: %w", err)
	}
	dead, err := a.dead.Info(ctx)
	if err != nil {
		return Counts{}, fmt.Errorf("count dead letters: %w", err)
	}
	c := Counts{
		Stored: int(info.State.Msgs), Dead: int(dead.State.Msgs), Capacity: info.Config.MaxMsgs,
		Bytes: info.Config.MaxBytes, StoredBytes: info.State.Bytes,
	}
	consumers := a.Q.State.Jobs.ListConsumers(ctx)
	for lane := range consumers.Info() {
		c.Lanes = append(c.Lanes, LaneCount{lane.Name, int(lane.NumPending), lane.NumAckPending})
	}
	slices.SortFunc(c.Lanes, func(x, y LaneCount) int { return strings.Compare(x.Name, y.Name) })
	if err := consumers.Err(); err != nil {
		return c, fmt.Errorf("count jobs: %w", err)
	}
	return c, nil
}
