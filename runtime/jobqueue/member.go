package jobqueue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"pinion/runtime/health"
	"pinion/runtime/jobqueue/store"
	"pinion/runtime/jobqueue/store/consume"
	"pinion/runtime/jobqueue/store/live"
	"pinion/runtime/jobqueue/store/state"
	"pinion/runtime/webhook"
)

// Member is a part of a model's job queue. Safe for concurrent use.
type Member struct {
	Renderer

	o       Options
	conn    *state.Conn
	tried   chan struct{}               // closed when the first attempt to join has ended
	settled chan struct{}               // closed when the member has joined, is refused or leaves
	denial  error                       // why it is refused; read after settled is closed
	heard   atomic.Int64                // when NATS answered meanwhile
	queue   atomic.Pointer[store.Queue] // nil means not joined yet
	outage  atomic.Pointer[outage]      // nil means NATS answers, as far as this member knows

	waiters    waiters
	schemas    knownSchemas
	pulling    context.Context // ends with Drain
	drain      context.CancelFunc
	sending    context.Context // ends with Close
	stop       context.CancelFunc
	background sync.WaitGroup // joins, takes jobs, sends webhooks

	mu     sync.Mutex
	server *consume.Server               // nil means no job was taken yet
	taken  map[string]context.CancelFunc // of the versions whose jobs run here
	takers []func()                      // of them, those that wait for server
	taking sync.WaitGroup                // the others; not added to once pulling has ended

	returned time.Time // for JobsWait: since when jobs that were given back run nowhere; zero means there are none
}

// Join makes a member, which joins in the background.
func Join(o Options) *Member {
	if o.Memory != nil {
		o.Queue.Memory = o.Memory
	}
	m := &Member{o: o, tried: make(chan struct{}), settled: make(chan struct{})}
	m.pulling, m.drain = context.WithCancel(context.Background())
	m.sending, m.stop = context.WithCancel(context.Background())
	m.setProblem("it waits for NATS, which has not answered yet")
	connected := make(chan struct{}, 1)
	m.conn = o.Connect(func(lost error) { m.onConnection(lost, connected) })
	m.background.Go(func() {
		if m.denial = m.joinFirst(); m.denial == nil && m.queue.Load() == nil {
			close(m.tried)
			m.denial = m.joinLater(connected)
			close(m.settled)
		} else {
			close(m.settled)
			close(m.tried)
		}
		if m.queue.Load() != nil {
			m.serve(connected)
		}
	})
	return m
}

// Joined waits for the end of the first attempt to join: until ctx ends, and for as long as NATS answers. It is an
// error if NATS refuses this member, or has the model's queue with other settings; a NATS that does not answer is not,
// and may refuse it later.
func (m *Member) Joined(ctx context.Context) error {
	select {
	case <-m.tried:
	case <-ctx.Done():
	}
	for waiting := true; waiting && time.Since(time.Unix(0, m.heard.Load())) < quietTime; {
		select {
		case <-m.tried:
			waiting = false
		case <-time.After(quietTime / 10):
		}
	}
	select {
	case <-m.settled:
		return m.denial
	default:
		return nil
	}
}

// Refused waits until the member has joined, is refused or leaves, and returns why it is refused.
func (m *Member) Refused() error {
	<-m.settled
	return m.denial
}

// quietTime is for how long NATS must say nothing to be not waited for.
const quietTime = time.Second

// joinFirst is the first attempt to join; its error is that of Joined.
func (m *Member) joinFirst() error {
	if err := m.conn.Tried(m.sending); err != nil {
		if m.sending.Err() != nil {
			return nil
		}
		return err
	}
	if !m.conn.IsConnected() {
		return nil
	}
	err := m.join()
	if state.Temporary(err) {
		m.joinFailed(err)
		return nil
	}
	return err
}

// onConnection notes that the connection was made or lost.
func (m *Member) onConnection(lost error, connected chan<- struct{}) {
	if lost != nil {
		m.o.Logger.Warn("the job queue cannot be reached: asynchronous predictions are refused meanwhile", "error", lost)
		m.setProblem("NATS cannot be reached; the server's log says why") // clients must not see the address of NATS
		return
	}
	if m.queue.Load() != nil {
		m.setAnswers()
		m.o.Logger.Info("the job queue can be reached again", "model", m.o.Queue.Model)
		m.publishStatus()
	}
	select {
	case connected <- struct{}{}:
	default:
	}
}

// joinTimeout bounds one attempt to join. A store that is being opened may take longer: then another one follows.
const joinTimeout = 10 * time.Second

func (m *Member) join() error {
	ctx, cancel := state.WithProgress(joinTimeout, func() { m.heard.Store(time.Now().UnixNano()) })
	defer cancel()
	var denied atomic.Pointer[error]
	m.conn.OnError(func(err error) {
		if state.IsDenied(err) {
			denied.Store(&err)
			cancel() // what NATS denies it never answers
		}
		m.o.Logger.Warn("NATS reports an error", "error", err)
	})
	q, err := store.Open(ctx, m.conn, m.o.Queue)
	if denied := denied.Load(); err != nil && denied != nil {
		return fmt.Errorf("NATS denies this user the job queue of the model %s: %w", m.o.Queue.Model, *denied)
	}
	if err != nil {
		return err
	}
	if _, err := q.Live.Answer(m.waiters.notify); err != nil {
		return fmt.Errorf("join the job queue: %w", err)
	}
	m.queue.Store(q)
	m.setAnswers()
	return nil
}

// joinLater joins when NATS can be reached; its error is that of Refused. It ends too when the member leaves.
func (m *Member) joinLater(connected <-chan struct{}) error {
	settled := m.conn.Settled()
	for {
		select {
		case <-settled:
			if err := m.conn.Refused(); err != nil {
				return err
			}
			settled = nil
		case <-connected:
		case <-time.After(5 * time.Second):
		case <-m.sending.Done():
			return nil
		}
		if !m.conn.IsConnected() {
			continue
		}
		err := m.join()
		if err == nil {
			m.o.Logger.Info("joined the job queue", "model", m.o.Queue.Model)
			return nil
		}
		if _, misused := errors.AsType[*state.MismatchError](err); misused || state.IsDenied(err) {
			return err
		}
		m.joinFailed(err)
	}
}

func (m *Member) joinFailed(err error) {
	m.setProblem(err.Error())
	m.o.Logger.Warn("cannot join the job queue; will try again", "error", err)
}

// serve takes jobs and sends webhooks until the member leaves.
func (m *Member) serve(connected <-chan struct{}) {
	q := m.queue.Load()
	var loops sync.WaitGroup
	defer loops.Wait()
	loops.Go(func() { m.watchReconnects(connected) })
	loops.Go(func() { m.retryLoop(m.sending, func() error { return q.Jobs.SendHooks(m.sending, m.post) }) })
	loops.Go(func() { m.retryLoop(m.sending, func() error { return q.ReapOrphans(m.sending, m) }) })
	if m.o.Checker != nil {
		loops.Go(func() { m.retryLoop(m.sending, func() error { return m.watchSchema(m.sending) }) })
	}
	if m.o.Local == nil {
		return
	}
	if m.o.Schema != nil {
		loops.Go(func() { m.retryLoop(m.pulling, func() error { return m.publishSchema(m.pulling) }) })
	}
	s := q.Jobs.Serve(m, m.o.Logger)
	m.mu.Lock()
	m.server = s
	m.beginTakers()
	m.mu.Unlock()
	m.publishStatus() // before it can be asked: see the LookupDirect of the store
	loops.Go(func() { q.Live.PublishStatusUntil(m.sending, func() live.ServerStatus { return m.status(s) }) })
	m.retryLoop(m.pulling, func() error { return s.Run(m.pulling, "") })
	m.awaitTakers()
	s.Wait()
	// after the ends of its jobs: a webhook that came while the member stops pulling would wait for AckWait
	m.stop()
}

// publishStatus publishes the status of this server, if it takes jobs.
func (m *Member) publishStatus() {
	m.mu.Lock()
	s := m.server
	m.mu.Unlock()
	if s != nil {
		m.queue.Load().Live.PublishStatus(m.status(s))
	}
}

// status returns what this server publishes about itself.
func (m *Member) status(s *consume.Server) live.ServerStatus {
	status := live.ServerStatus{Running: s.Running(), Draining: m.pulling.Err() != nil, Version: m.o.Version}
	if m.o.Slots != nil {
		status.Slots, status.Free = m.o.Slots()
	}
	if m.o.Versions != nil {
		status.Versions = m.o.Versions()
	}
	return status
}

// repeatedWarning is how often the same error of a loop is logged again.
const repeatedWarning = time.Minute

// retryLoop calls f until ctx ends.
func (m *Member) retryLoop(ctx context.Context, f func() error) {
	var last string // error that was logged
	var loggedAt time.Time
	for ctx.Err() == nil {
		if err := f(); err != nil && ctx.Err() == nil {
			if text := err.Error(); text != last || time.Since(loggedAt) > repeatedWarning {
				m.o.Logger.Warn("the job queue does not answer; will try again", "error", err)
				last, loggedAt = text, time.Now()
			}
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
			}
		}
	}
}

// post posts the webhook of a job that has ended.
func (m *Member) post(ctx context.Context, p consume.Posting) time.Duration {
	return m.o.Webhooks.Post(ctx, webhook.Stored{
		Prediction: p.ID, URL: p.Hook.URL, Body: webhookBody(p.Body), Propagation: p.Hook.Propagation,
	}, p.Tries)
}

// Drain stops taking jobs. What runs goes on.
func (m *Member) Drain() {
	m.drain()
	m.publishStatus()
}

// Release gives jobs that run here back to the queue, for other servers: those in slots for which of returns true, or
// (nil) all. Their predictions are canceled.
func (m *Member) Release(of func(consume.Slot) bool) {
	m.mu.Lock()
	s := m.server
	m.mu.Unlock()
	if s != nil {
		s.Release(of)
	}
}

// errEndsNotStored means that Close did not wait any longer.
var errEndsNotStored = errors.New("the ends of jobs could not be stored; other servers will run them again")

// Close leaves the queue once the ends of all jobs are stored, or when ctx ends.
func (m *Member) Close(ctx context.Context) error {
	m.drain()
	m.mu.Lock()
	runsJobs := m.server != nil
	m.mu.Unlock()
	if !runsJobs {
		m.stop()
	}
	left := make(chan struct{})
	go func() {
		m.background.Wait()
		close(left)
	}()
	var err error
	select {
	case <-left:
		m.conn.Flush() // webhooks that were given back, which would wait for AckWait
	case <-ctx.Done():
		err = errEndsNotStored
	}
	m.stop()
	m.conn.Close()
	return err
}

// returnedAfter is for how long jobs must have been delivered and run nowhere before they count as given back: servers
// say every 5 s what they run.
const returnedAfter = 10 * time.Second

// JobsWait reports whether jobs wait that no server takes, and whether jobs wait that name a version of the model. It
// is called every second or so, by one goroutine.
func (m *Member) JobsWait(ctx context.Context) (waits bool, named func(version string) bool) {
	named = func(string) bool { return false }
	q, err := m.reached()
	if err != nil {
		return false, named
	}
	ctx, cancel := context.WithTimeout(ctx, natsTimeout)
	defer cancel()
	pending, byVersion, delivered, err := q.State.Delivery(ctx)
	if err != nil {
		return false, named
	}
	named = func(version string) bool { return byVersion[state.VersionToken(version)] > 0 }
	if _, running := q.Live.Fleet(); delivered <= running {
		m.returned = time.Time{}
	} else if m.returned.IsZero() {
		m.returned = time.Now()
	}
	return pending > 0 || !m.returned.IsZero() && time.Since(m.returned) > returnedAfter, named
}

// Overview returns the state of the queue, and the live servers of the model.
func (m *Member) Overview() (state.Summary, []live.NamedStatus, error) {
	q, err := m.reached()
	if err != nil {
		return state.Summary{}, nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), healthTimeout)
	defer cancel()
	s, err := q.State.Summary(ctx)
	return s, q.Live.Servers(), err
}

// healthTimeout bounds how long NATS is asked for the health.
const healthTimeout = time.Second

// Health returns what the health document has of the job queue; nil if m is nil.
func (m *Member) Health() *health.Fleet {
	if m == nil {
		return nil
	}
	h := &health.Fleet{Connected: m.conn.IsConnected()}
	q, err := m.reached()
	if err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), healthTimeout)
		defer cancel()
		h.Stored, err = q.State.Waiting(ctx)
		h.Servers, h.Running = q.Live.Fleet()
		h.Running = max(h.Running, m.Running())
		h.Waiting = h.Stored - min(h.Stored, uint64(h.Running))
	}
	if err != nil {
		h.Error = err.Error()
	}
	return h
}

// Running returns how many jobs this server runs.
func (m *Member) Running() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.server == nil {
		return 0
	}
	return m.server.Running()
}

// Stats returns counts of what happened to jobs here.
func (m *Member) Stats() consume.Stats {
	q, err := m.reached()
	if err != nil {
		return consume.Stats{}
	}
	return q.Jobs.Stats()
}
