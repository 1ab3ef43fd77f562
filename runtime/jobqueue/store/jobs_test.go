package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pinion/runtime/jobqueue/store"
	"pinion/runtime/jobqueue/store/consume"
	"pinion/runtime/jobqueue/store/state"
	"pinion/tests/assert"
)

func TestJob_RunsOnceAndItsResultIsKnown(t *testing.T) {
	r := newRig(t, nil)
	run := newRunner(2, succeed)
	r.serve(r.Queue, run)
	assert.Equal(t, "the status as it is accepted", r.accept("p1").Status, state.Starting)
	r.eventually("p1 succeeds", func() bool { return r.state("p1").Status == state.Succeeded })
	s := r.state("p1")
	assert.True(t, s.Attempt == 1 && s.Lost == 0 && string(s.Prediction) == `{"id":"p1","status":"succeeded","error":""}`,
		"the state is %+v, want Attempt 1, Lost 0 and Prediction %q", s, `{"id":"p1","status":"succeeded","error":""}`)
	r.eventually("its message is gone", func() bool { return r.messages(r.State.Names.Jobs()) == 0 })
	assert.Equal(t, "webhooks stored", r.messages(r.State.Names.Hooks()), 1)
	assert.Equal(t, "runs", run.count("p1"), 1)
}

func TestJobs_IDIsAcceptedOnce(t *testing.T) {
	r := newRig(t, nil)
	first := r.accept("p1")
	_, err := r.Accept(t.Context(), state.Job{ID: "p1", Kind: state.Prediction, Class: state.Normal, Attempts: 3}, starting("p1"), false)
	var used *store.InUseError
	assert.True(t, errors.As(err, &used) && used.State.Status == state.Starting,
		"got %v, want an error of type *store.InUseError and Status starting", err)
	again, err := r.Accept(t.Context(), state.Job{ID: "p1", Kind: state.Prediction, Class: state.Normal, Attempts: 3}, starting("p1"), true)
	assert.NoError(t, err)
	assert.Equal(t, "repeated: Job", again.Job, first.Job)
	assert.Equal(t, "waiting messages", r.messages(r.State.Names.Jobs()), 1)
}

// TestJobs_AdmissionCutShortIsRepeated: the state is there and the job is not. Code that takes the state for the job
// leaves it forever.
func TestJobs_AdmissionCutShortIsRepeated(t *testing.T) {
	r := newRig(t, nil)
	_, _, err := r.Create(t.Context(), "p1", &state.State{Job: "token", Status: state.Starting, Prediction: starting("p1")})
	assert.NoError(t, err)
	assert.EqualNow(t, "messages", r.messages(r.State.Names.Jobs()), 0)
	s, err := r.Accept(t.Context(), state.Job{ID: "p1", Kind: state.Prediction, Class: state.Normal, Attempts: 3}, starting("p1"), true)
	assert.NoError(t, err)
	assert.Equal(t, "repeated: Job", s.Job, "token")
	assert.Equal(t, "messages", r.messages(r.State.Names.Jobs()), 1)
	r.claims(r.Queue)
}

func TestJobs_FullQueueRefusesAndForgets(t *testing.T) {
	r := newRig(t, func(o *state.Options) { o.Capacity = 2 })
	r.accept("p1")
	r.accept("p2")
	full := state.Job{ID: "p3", Kind: state.Prediction, Class: state.Normal, Attempts: 3}
	_, err := r.Accept(t.Context(), full, starting("p3"), false)
	assert.TrueNow(t, errors.Is(err, state.ErrFull), "got %v, want ErrFull", err)
	_, err = r.Find(t.Context(), "p3", renderer{})
	assert.True(t, errors.Is(err, state.ErrUnknown), "the refused id is known: %v, want ErrUnknown", err)
	c := r.claims(r.Queue)
	assert.NoError(t, c.End(t.Context(), state.Succeeded, starting("p1")))
	r.eventually("there is room, and the id is accepted", func() bool {
		_, err := r.Accept(t.Context(), full, starting("p3"), false)
		return err == nil
	})
}

// TestJobs_PurgeSparesNewerState: what takes an admission back does not hit a state that was written since (trap 9).
func TestJobs_PurgeSparesNewerState(t *testing.T) {
	r := newRig(t, nil)
	r.accept("p1")
	first, err := r.State.Read(t.Context(), "p1")
	assert.NoError(t, err)
	_, err = r.Touch(t.Context(), "p1")
	assert.NoError(t, err)
	assert.NoError(t, r.State.Purge(t.Context(), "p1", first.Revision))
	s, err := r.Find(t.Context(), "p1", renderer{})
	assert.True(t, err == nil && s.Status == state.Starting, "it is %s, %v, want starting", s.Status, err)
}

func TestJobs_TenantHasItsOwnBound(t *testing.T) {
	r := newRig(t, func(o *state.Options) { o.TenantCapacity = 1 })
	tenant := func(name string) func(*state.Job) { return func(j *state.Job) { j.Tenant = name } }
	r.accept("p1", tenant("greedy"))
	asked := r.seen("pinion.job.m.>")
	_, err := r.Accept(t.Context(), state.Job{ID: "p2", Tenant: "greedy", Kind: state.Prediction, Class: state.Normal, Attempts: 3},
		starting("p2"), false)
	assert.ErrorIs(t, "a second job", err, state.ErrFull)
	assert.Equal(t, "times that NATS was asked", asked(), 1)
	r.accept("p3", tenant("small"))
}

func TestJobs_StateOfEndedJobExpires(t *testing.T) {
	r := newRig(t, func(o *state.Options) { o.ResultTTL = time.Second })
	first := r.accept("p1")
	r.accept("p2") // waits longer than the results are known
	c := r.claims(r.Queue)
	assert.NoError(t, c.End(t.Context(), state.Succeeded, starting("p1")))
	r.eventually("p1 is forgotten",
		func() bool { _, err := r.Find(t.Context(), "p1", renderer{}); return errors.Is(err, state.ErrUnknown) })
	assert.Equal(t, "the status of p2", r.state("p2").Status, state.Starting)
	again := r.accept("p1")
	assert.True(t, again.Job != first.Job, "got the token %q of the id's last life, want another", again.Job)
	assert.Equal(t, "messages", r.messages(r.State.Names.Jobs()), 2)
}

func TestJobs_DeadlineThatPassedInQueue(t *testing.T) {
	r := newRig(t, nil)
	r.accept("p1", func(j *state.Job) { j.Deadline = time.Now().Add(-time.Second) })
	r.wantOutcome(r.Queue, r.delivery(r.Queue), consume.Settled)
	s := r.state("p1")
	assert.Equal(t, "its status", s.Status, state.Failed)
	assert.Contains(t, "its prediction", string(s.Prediction), "deadline")
}

func TestJobs_Cancel(t *testing.T) {
	r := newRig(t, nil)
	cancel := func(id string) bool {
		t.Helper()
		ok, err := r.Cancel(t.Context(), id, "", renderer{})
		assert.TrueNow(t, err == nil, "cancel %s: got %v, want no error", id, err)
		return ok
	}
	_, err := r.Cancel(t.Context(), "unknown", "", renderer{})
	assert.True(t, errors.Is(err, state.ErrUnknown), "got %v, want ErrUnknown", err)
	r.accept("waits")
	if !cancel("waits") || r.state("waits").Status != state.Canceled || !cancel("waits") {
		t.Errorf(`a job that waits is %+v, want cancel("waits") true, Status canceled and cancel("waits") true`,
			r.state("waits"))
	}
	r.wantOutcome(r.Queue, r.delivery(r.Queue), consume.Settled) // it must never run
	run := newRunner(1, func(ctx context.Context, c *consume.Claim) (state.Status, []byte) {
		<-ctx.Done()
		assert.ErrorIs(t, "the cause", context.Cause(ctx), context.Canceled)
		return state.Canceled, renderer{}.RenderEnded(&c.Job, nil, state.Canceled, "")
	})
	r.serve(r.other("b"), run)
	r.accept("runs")
	r.eventually("it runs", func() bool { return run.count("runs") == 1 })
	assert.True(t, cancel("runs"), `a job that runs is not canceled: cancel("runs") = false, want true`)
	r.eventually("it is canceled", func() bool { return r.state("runs").Status == state.Canceled })
}

// TestJobs_CancelThatNoServerHeard: the message on the core subject is lost with the connection; the heartbeat reads
// the flag.
func TestJobs_CancelThatNoServerHeard(t *testing.T) {
	r := newRig(t, nil)
	r.accept("p1")
	c := r.claims(r.Queue) // not by a Server: nothing listens
	r.cancels(r.other("b"), "p1", "")
	assert.Equal(t, "the heartbeat", c.Beat(t.Context()), consume.CancelAsked)
}

func TestJobs_DrainGivesJobsBack(t *testing.T) {
	r := newRig(t, nil)
	first := newRunner(1, func(ctx context.Context, c *consume.Claim) (state.Status, []byte) {
		<-ctx.Done()
		return state.Starting, starting(c.Job.ID)
	})
	s, drain, stop := r.serve(r.Queue, first)
	r.accept("p1")
	r.eventually("p1 runs", func() bool { return first.count("p1") == 1 })
	drain()
	s.Release(nil)
	r.eventually("p1 waits again", func() bool { return r.state("p1").Status == state.Starting })
	stop()
	r.serve(r.other("b"), newRunner(1, succeed))
	r.eventually("p1 succeeds elsewhere", func() bool { return r.state("p1").Status == state.Succeeded })
	now := r.state("p1")
	assert.True(t, now.Attempt == 2 && now.Lost == 0 && now.Server == "b", "got %+v, want Attempt 2, Lost 0 and Server b", now)
}

func TestJobs_MessageWithoutStateIsNeverRun(t *testing.T) {
	r := newRig(t, nil)
	j := state.Job{ID: "p1", Kind: state.Prediction, Class: state.Normal, Attempts: 3, Token: "of a former life"}
	_, err := r.State.JS.PublishMsg(t.Context(), j.Message(r.State.Names.Job(state.Normal, 1, "")))
	assert.NoError(t, err)
	r.wantOutcome(r.Queue, r.delivery(r.Queue), consume.Orphaned)
	assert.Equal(t, "dead letters", r.messages(r.State.Names.Dead()), 1)
}

// TestJobs_ClaimWhoseAnswerWasLost is trap 2: the swap was done, and its answer never came. The second try finds its
// own token.
func TestJobs_ClaimWhoseAnswerWasLost(t *testing.T) {
	r := newRig(t, nil)
	r.accept("p1")
	now := assert.Must(r.State.Read(t.Context(), "p1"))(t)
	next := now.State
	next.Status, next.Claim = state.Processing, "mine"
	mine := func(s *state.State) bool { return s.Claim == "mine" }
	first, _, err := r.State.Swap(t.Context(), "p1", now, &next, mine)
	assert.NoError(t, err)
	again, _, err := r.State.Swap(t.Context(), "p1", now, &next, mine)
	assert.NoError(t, err)
	assert.Equal(t, "again, of the repeated swap", again, first)
	_, _, err = r.State.Swap(t.Context(), "p1", now, &next, func(s *state.State) bool { return s.Claim == "another" })
	assert.True(t, errors.Is(err, state.ErrConflict), "another's swap: %v, want errConflict", err)
}

func TestJobs_UrgentJobsComeFirst(t *testing.T) {
	r := newRig(t, nil)
	for i := range 4 {
		r.accept(fmt.Sprintf("lo%d", i), func(j *state.Job) { j.Class = state.Low })
		r.accept(fmt.Sprintf("hi%d", i), func(j *state.Job) { j.Class = state.High })
	}
	// JetStream tells its consumers of a message after it has stored it.
	for _, class := range []state.Class{state.High, state.Low} {
		c := assert.Must(r.State.JS.Consumer(t.Context(), r.State.Names.Jobs(), state.Consumer(class, 0)))(t)
		r.eventually("the consumer knows of all",
			func() bool { info, err := c.Info(t.Context()); return err == nil && info.NumPending == 4 })
	}
	var order []string
	run := newRunner(1, func(ctx context.Context, c *consume.Claim) (state.Status, []byte) {
		order = append(order, c.Job.ID[:2]) // one place: one at a time
		return succeed(ctx, c)
	})
	_, _, stop := r.serve(r.Queue, run)
	r.eventually("all ran", func() bool { return r.messages(r.State.Names.Jobs()) == 0 })
	stop()
	// The third turn of eight begins with the lowest class.
	assert.Equal(t, "the order", strings.Join(order, " "), "hi hi lo hi hi lo lo lo")
}

func TestJobs_ManyJobsOverManyServersEachEndOnce(t *testing.T) {
	// No server is lost. On a busy machine one that is slow must not seem lost, which runs its job twice.
	r := newRig(t, func(o *state.Options) { o.Lanes, o.AckWait = 3, 30*time.Second })
	const jobs, servers = 300, 3
	var runs []*runner
	for i := range servers {
		run := newRunner(4, succeed)
		runs = append(runs, run)
		r.serve(r.other(fmt.Sprint("server", i)), run)
	}
	for i := range jobs {
		r.accept(fmt.Sprint("p", i), func(j *state.Job) { j.Tenant, j.Class = fmt.Sprint("tenant", i%7), state.Classes[i%3] })
	}
	r.eventually("all ended", func() bool { return r.messages(r.State.Names.Jobs()) == 0 })
	for i := range jobs {
		id, n := fmt.Sprint("p", i), 0
		for _, run := range runs {
			n += run.count(id)
		}
		s := r.state(id)
		assert.True(t, s.Status == state.Succeeded && n == 1, "%s is %s after %d runs, want succeeded and 1", id, s.Status, n)
	}
}
