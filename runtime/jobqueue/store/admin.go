package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Admin looks at the queue of a model and repairs it, for an operator. It is not a member: it makes no stream, runs no
// job, and takes the settings as they are.
type Admin struct {
	q    *Queue
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

// OpenAdmin opens the queue of a model for an operator. ttl is how long the end of a job is known that the operator
// cancels; 0 means the default. keys are those of the queue's members.
func (c *Conn) OpenAdmin(ctx context.Context, model string, ttl time.Duration, keys *Keys) (*Admin, error) {
	return OpenAdmin(ctx, c.nc, model, ttl, keys)
}

// OpenAdmin is Conn.OpenAdmin with the client's connection.
func OpenAdmin(ctx context.Context, nc *nats.Conn, model string, ttl time.Duration, keys *Keys) (*Admin, error) {
	if err := checkServer(nc.ConnectedServerVersion()); err != nil {
		return nil, err
	}
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, fmt.Errorf("open the job queue: %w", err)
	}
	queue := QueueName(model)
	a := &Admin{q: &Queue{
		o: Options{Model: queue, ResultTTL: ttl, Keys: keys}.withDefaults(), names: names{queue}, nc: nc,
		js: js,
	}}
	for _, part := range []struct {
		name string
		to   *jetstream.Stream
	}{{a.q.names.jobs(), &a.q.jobs}, {a.q.names.states(), &a.q.states}, {a.q.names.dead(), &a.dead}} {
		stream, err := js.Stream(ctx, part.name)
		switch {
		case errors.Is(err, jetstream.ErrStreamNotFound) && part.to == &a.q.jobs:
			known, _ := modelsOf(ctx, js) // NATS may not let this user list them
			return nil, &NoQueueError{model, known}
		case errors.Is(err, jetstream.ErrStreamNotFound):
			return nil, &MismatchError{Stream: "the stream " + part.name}
		case err != nil:
			return nil, fmt.Errorf("open the job queue: %w", err)
		}
		*part.to = stream
	}
	if _, err := a.q.jobsInfo(ctx); err != nil { // notes the time of NATS
		return nil, err
	}
	return a, nil
}

// Entry is a job that was accepted and has not ended.
type Entry struct {
	ID          string
	Class       Class
	Lane        int
	Tenant      string // or its hash, as in subjects
	Accepted    time.Time
	Bytes       int // of its body
	ContentType string
	State       State
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
func (a *Admin) Jobs(ctx context.Context, class Class, status Status, limit int) ([]Entry, error) {
	if class == "" {
		return a.jobs(ctx, ">", status, limit)
	}
	entries, err := a.jobs(ctx, string(class)+".>", status, limit)
	if err != nil {
		return nil, err
	}
	named, err := a.jobs(ctx, atVersion+".*."+string(class)+".>", status, limit) // a version of the model
	entries = append(entries, named...)
	slices.SortStableFunc(entries, func(x, y Entry) int { return x.Accepted.Compare(y.Accepted) })
	if limit > 0 && len(entries) > limit {
		entries = entries[:limit]
	}
	return entries, err
}

// jobs returns the jobs whose subjects end in subjects.
func (a *Admin) jobs(ctx context.Context, subjects string, status Status, limit int) (entries []Entry, err error) {
	err = walk(ctx, a.q.jobs, 1, "pinion.job."+a.q.o.Model+"."+subjects, func(m *jetstream.RawStreamMsg) (bool, error) {
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
		ID: get(m.Header, headerID), Accepted: m.Time, Bytes: len(m.Data),
		ContentType: get(m.Header, headerContentType),
	}
	if at, ok := readSubject(m.Subject); ok {
		e.Class, e.Lane, e.Tenant = at.class, at.lane, at.tenant
	}
	now, err := a.q.read(ctx, e.ID)
	if err != nil && !isForeign(err) {
		return e, err
	}
	e.State = now.State
	return e, nil
}

// place is where a job waits, as the subject of its message says.
type place struct {
	class  Class
	lane   int // 0 for a job that names a version
	tenant string
}

func readSubject(subject string) (at place, ok bool) {
	parts := strings.Split(subject, ".")
	switch {
	case len(parts) == 6:
		at.class = Class(parts[3])
		at.lane, _ = strconv.Atoi(parts[4])
	case len(parts) == 7 && parts[3] == atVersion:
		at.class = Class(parts[5])
	default:
		return at, false
	}
	if at.tenant = parts[len(parts)-1]; at.tenant == token("") {
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

func (a *Admin) letterSubject(token string) string { return "pinion.dead." + a.q.o.Model + "." + token }

func readLetter(m *jetstream.RawStreamMsg) Letter {
	attempts, _ := strconv.Atoi(m.Header.Get(headerAttempts)) // 0 is for a message that no member wrote
	return Letter{
		ID: get(m.Header, headerID), Reason: get(m.Header, headerReason), Died: m.Time, Bytes: len(m.Data),
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
func (a *Admin) Job(ctx context.Context, id string) (*State, *Entry, *Letter, error) {
	now, err := a.q.read(ctx, id)
	if err != nil && !isForeign(err) {
		return nil, nil, nil, err
	}
	result, err := a.q.loadResult(ctx, now.Prediction)
	switch {
	case err == nil:
		now.Prediction, now.result = result.Object, result
	case !errors.Is(err, jetstream.ErrObjectNotFound): // else it has expired, and the state will
		return nil, nil, nil, err
	}
	letter, err := a.letter(ctx, id)
	if err != nil {
		return nil, nil, nil, err
	}
	switch {
	case now.Status == "" && letter == nil:
		return nil, nil, nil, ErrUnknown
	case now.Status == "":
		return nil, nil, letter, nil
	case now.Seq == 0 || now.Status.Ended():
		return &now.State, nil, letter, nil
	}
	m, err := a.q.jobs.GetMsg(ctx, now.Seq)
	if err != nil { // it has ended meanwhile
		return &now.State, nil, letter, nil
	}
	e, err := a.entry(ctx, m)
	return &now.State, &e, letter, err
}

// letter returns the last dead letter of an id, or nil.
func (a *Admin) letter(ctx context.Context, id string) (*Letter, error) {
	m, err := a.dead.GetLastMsgForSubject(ctx, a.letterSubject(token(id)))
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
func (a *Admin) Cancel(ctx context.Context, id string, renderer Renderer) (bool, error) {
	return a.q.Cancel(ctx, id, "", renderer)
}

// Purge removes the dead letters of an id, or ("") all, and returns how many there were.
func (a *Admin) Purge(ctx context.Context, id string) (int, error) {
	subject := a.letterSubject("*")
	if id != "" {
		subject = a.letterSubject(token(id))
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
	info, err := a.q.jobs.Info(ctx)
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
	consumers := a.q.jobs.ListConsumers(ctx)
	for lane := range consumers.Info() {
		c.Lanes = append(c.Lanes, LaneCount{lane.Name, int(lane.NumPending), lane.NumAckPending})
	}
	slices.SortFunc(c.Lanes, func(x, y LaneCount) int { return strings.Compare(x.Name, y.Name) })
	if err := consumers.Err(); err != nil {
		return c, fmt.Errorf("count jobs: %w", err)
	}
	return c, nil
}
