package store_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"pinion/runtime/jobqueue/store"
	"pinion/runtime/jobqueue/store/consume"
	"pinion/runtime/jobqueue/store/live"
	"pinion/runtime/jobqueue/store/state"
	"pinion/runtime/natsserver"
	"pinion/tests/assert"
)

// rig is a NATS server in this process, with one member of a model's queue.
type rig struct {
	*store.Queue

	t      *testing.T
	server *reopened
}

// newRig starts one for a test that runs in parallel with others.
func newRig(t *testing.T, change func(*state.Options)) *rig {
	t.Helper()
	t.Parallel()
	return startRig(t, change)
}

// startRig starts one. AckWait is short, because most tests lose a server.
func startRig(t *testing.T, change func(*state.Options)) *rig {
	t.Helper()
	server := startServer(t)
	// NATS runs in this process, which has not started it as a child.
	o := state.Options{
		Model: "m", Server: "a", AckWait: time.Second, Bytes: 64 << 20,
		Host: ownHost{},
	}
	if change != nil {
		change(&o)
	}
	r := &rig{t: t, server: server}
	r.Queue = r.member(o)
	return r
}

// ownHost is a host whose disk has room.
type ownHost struct{}

func (ownHost) Bytes(most int64) int64 { return most }
func (ownHost) Room() error            { return nil }
func (ownHost) Revive()                {}

// reopened is a NATS server in this process that a test may start again.
type reopened struct {
	dir string

	mu sync.Mutex
	s  *natsserver.Server
}

func startServer(t *testing.T) *reopened {
	t.Helper()
	r := &reopened{dir: t.TempDir()}
	r.start(t)
	t.Cleanup(func() { r.s.Close() })
	return r
}

func (r *reopened) start(t *testing.T) {
	t.Helper()
	r.s = assert.Must(natsserver.Start(natsserver.Options{Dir: r.dir, Sync: 2 * time.Minute}))(t)
}

// InProcessConn implements nats.InProcessConnProvider.
func (r *reopened) InProcessConn() (net.Conn, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.s.InProcessConn()
}

func (r *reopened) connect(t *testing.T) *nats.Conn {
	t.Helper()
	nc := assert.Must(nats.Connect("", nats.InProcessServer(r)))(t)
	t.Cleanup(nc.Close)
	return nc
}

// member returns another member of the queue.
func (r *rig) member(o state.Options) *store.Queue {
	r.t.Helper()
	return assert.Must(store.Open(r.t.Context(), state.Connected(r.server.connect(r.t)), o))(r.t)
}

// other returns another member with another name.
func (r *rig) other(name string) *store.Queue {
	o := r.State.Options
	o.Server = name
	return r.member(o)
}

// accept stores a job.
func (r *rig) accept(id string, change ...func(*state.Job)) state.State {
	r.t.Helper()
	j := state.Job{
		ID: id, Kind: state.Prediction, Class: state.Normal, Body: []byte(`{"input":{}}`), ContentType: "application/json",
		Attempts: 3, Hook: &state.Hook{URL: "http://hook.test/" + id},
	}
	for _, f := range change {
		f(&j)
	}
	s, err := r.Accept(r.t.Context(), j, starting(id), false)
	assert.TrueNow(r.t, err == nil, "accept %s: got %v, want no error", id, err)
	return s
}

// delivery returns the next message of the class std, for a server that has nothing else.
func (r *rig) delivery(q *store.Queue) jetstream.Msg {
	r.t.Helper()
	c := assert.Must(q.State.JS.Consumer(r.t.Context(), q.State.Names.Jobs(), state.Consumer(state.Normal, 0)))(r.t)
	m, err := c.Next(jetstream.FetchMaxWait(10 * time.Second))
	assert.NoError(r.t, err, "no job came")
	return m
}

// claims takes the next job for a member.
func (r *rig) claims(q *store.Queue) *consume.Claim {
	r.t.Helper()
	c, what := q.Jobs.Claim(r.t.Context(), r.delivery(q), noSlot{}, renderer{}, nil)
	assert.EqualNow(r.t, "state of the claim", what, consume.Claimed)
	return c
}

// wantOutcome has a member decide about a message.
func (r *rig) wantOutcome(q *store.Queue, m jetstream.Msg, want consume.Outcome) {
	r.t.Helper()
	_, what := q.Jobs.Claim(r.t.Context(), m, noSlot{}, renderer{}, nil)
	assert.EqualNow(r.t, "outcome of the claim", what, want)
}

// cancels has a member cancel a job that it knows.
func (r *rig) cancels(q *store.Queue, id string, kind state.Kind) {
	r.t.Helper()
	canceled := assert.Must(q.Cancel(r.t.Context(), id, kind, renderer{}))(r.t)
	assert.EqualNow(r.t, "the cancel of "+id, canceled, true)
}

// state returns the state of a job.
func (r *rig) state(id string) state.State {
	r.t.Helper()
	s, err := r.Find(r.t.Context(), id, renderer{})
	assert.TrueNow(r.t, err == nil, "find %s: got %v, want no error", id, err)
	return s
}

// messages returns how many messages a stream has.
func (r *rig) messages(stream string) uint64 {
	r.t.Helper()
	s := assert.Must(r.State.JS.Stream(r.t.Context(), stream))(r.t)
	info := assert.Must(s.Info(r.t.Context()))(r.t)
	return info.State.Msgs
}

// eventually waits until a condition holds.
func (r *rig) eventually(what string, reached func() bool) {
	r.t.Helper()
	assert.Eventually(r.t, what, reached)
}

// starting returns what a client sees of a job that waits.
func starting(id string) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"id":%q,"status":"starting"}`, id))
}

// renderer writes objects with an id, a status and an error.
type renderer struct{}

func (renderer) RenderStarted(j *state.Job, _ *state.State) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"id":%q,"status":"processing"}`, j.ID))
}

func (renderer) RenderEnded(j *state.Job, _ *state.State, s state.Status, reason string) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"id":%q,"status":%q,"error":%q}`, j.ID, s, reason))
}

// runner runs jobs by a function, a given number at a time.
type runner struct {
	renderer

	places chan struct{}
	time   time.Duration // of a run
	run    func(ctx context.Context, c *consume.Claim) (state.Status, []byte)
	follow func(id string, send func(live.Event) bool) // nil means there are no events

	mu   sync.Mutex
	runs map[string]int // by id
}

func newRunner(places int, run func(ctx context.Context, c *consume.Claim) (state.Status, []byte)) *runner {
	return &runner{places: make(chan struct{}, places), run: run, runs: map[string]int{}}
}

func (r *runner) AwaitCapacity(ctx context.Context, _ string) int {
	select {
	case r.places <- struct{}{}:
		<-r.places // only one goroutine acquires slots
		return cap(r.places) - len(r.places)
	case <-ctx.Done():
		return 0
	}
}

func (r *runner) AcquireSlot(version string) consume.Slot {
	select {
	case r.places <- struct{}{}:
		return runnerSlot{r, version}
	default:
		return nil
	}
}

func (r *runner) MeanDuration(string) time.Duration { return r.time }

// noSlot is that of a delivery that no runner takes.
type noSlot struct{}

func (noSlot) Version() string { return "" }
func (noSlot) Release()        {}

// runnerSlot is a slot of a runner.
type runnerSlot struct {
	r       *runner
	version string
}

func (s runnerSlot) Version() string { return s.version }
func (s runnerSlot) Release()        { <-s.r.places }

func (r *runner) ShowDirect(live.Lookup) json.RawMessage                  { return nil }
func (r *runner) CancelDirect(live.Lookup) bool                           { return false }
func (r *runner) FollowDirect(live.Lookup, uint64, func(live.Event) bool) {}

func (r *runner) Follow(id string, _ uint64, send func(live.Event) bool) {
	if r.follow != nil {
		r.follow(id, send)
	}
}

func (r *runner) Run(ctx context.Context, c *consume.Claim) (state.Status, []byte) {
	defer c.Slot.Release()
	r.mu.Lock()
	r.runs[c.Job.ID]++
	r.mu.Unlock()
	return r.run(ctx, c)
}

func (r *runner) count(id string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.runs[id]
}

// succeed returns a run that succeeds at once.
func succeed(_ context.Context, c *consume.Claim) (state.Status, []byte) {
	return state.Succeeded, renderer{}.RenderEnded(&c.Job, nil, state.Succeeded, "")
}

// succeedAfter returns a run that succeeds once gate is closed or something comes from it.
func succeedAfter(gate <-chan struct{}) func(context.Context, *consume.Claim) (state.Status, []byte) {
	return func(ctx context.Context, c *consume.Claim) (state.Status, []byte) {
		<-gate
		return succeed(ctx, c)
	}
}

// serve runs a server of a member until the test's end, or until drain and stop are called: drain ends the pulls, stop
// waits.
func (r *rig) serve(q *store.Queue, run consume.Runner) (s *consume.Server, drain, stop func()) {
	r.t.Helper()
	s = q.Jobs.Serve(run, slog.New(slog.NewTextHandler(io.Discard, nil)))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		err := s.Run(ctx, "")
		s.Wait()
		done <- err
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		err := <-done
		assert.True(r.t, err == nil, "the server: got %v, want no error", err)
	})
	r.t.Cleanup(stop)
	return s, cancel, stop
}

// naive acknowledges a message as code that does not check its claim would.
func naive(t *testing.T, m jetstream.Msg) {
	t.Helper()
	assert.NoError(t, m.Ack())
}

// redelivery returns a job's message, delivered to another server though its holder works on it.
func (r *rig) redelivery(q *store.Queue) jetstream.Msg {
	r.t.Helper()
	c, err := q.State.JS.CreateOrUpdateConsumer(r.t.Context(), q.State.Names.Dead(),
		jetstream.ConsumerConfig{Durable: "test", AckPolicy: jetstream.AckExplicitPolicy})
	assert.NoError(r.t, err)
	raw := assert.Must(q.State.Jobs.GetLastMsgForSubject(r.t.Context(), "pinion.job.m.>"))(r.t)
	copied := nats.NewMsg("pinion.dead.m.test")
	copied.Header, copied.Data = raw.Header, raw.Data
	_, err = q.State.JS.PublishMsg(r.t.Context(), copied)
	assert.NoError(r.t, err)
	return assert.Must(c.Next())(r.t)
}
