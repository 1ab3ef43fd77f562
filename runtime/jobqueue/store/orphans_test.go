package store_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"pinion/runtime/jobqueue/store/consume"
	"pinion/runtime/jobqueue/store/live"
	"pinion/runtime/jobqueue/store/state"
	"pinion/tests/assert"
)

// TestLost_StateWithoutJobEnds is trap 3: the publish failed, no client repeated it, and the state would be "starting"
// forever.
func TestLost_StateWithoutJobEnds(t *testing.T) {
	r := newRig(t, func(o *state.Options) { o.OrphanAge = 2 * time.Second })
	_, _, err := r.Create(t.Context(), "lost",
		&state.State{Job: "token", Status: state.Starting, Prediction: starting("lost"), Hook: &state.Hook{URL: "u"}})
	assert.NoError(t, err)
	r.accept("waits")
	assert.EqualNow(t, "the status of a state that is new", r.state("lost").Status, state.Starting)
	r.eventually("the state ends", func() bool {
		// The oldest job is not younger than the state by as much as it must be: take it away.
		if c := r.state("waits"); c.Status == state.Starting {
			assert.NoError(t, r.claims(r.Queue).End(t.Context(), state.Succeeded, starting("waits")))
		}
		return r.state("lost").Status == state.Failed
	})
	assert.Contains(t, "the prediction", string(r.state("lost").Prediction), "lost by the queue")
	assert.Equal(t, "webhooks stored", r.messages(r.State.Names.Hooks()), 2)
}

// TestLost_JobThatWaitsIsNotLost: a queue that waits for long is not a loss.
func TestLost_JobThatWaitsIsNotLost(t *testing.T) {
	r := newRig(t, func(o *state.Options) { o.OrphanAge = time.Nanosecond })
	r.accept("waits")
	c := r.claims(r.Queue)
	assert.Equal(t, "the status of a job that runs", r.state("waits").Status, state.Processing)
	assert.NoError(t, c.Release(t.Context(), starting("waits")))
	assert.Equal(t, "the status of a job that waits again", r.state("waits").Status, state.Starting)
}

// TestOrphans_OneMemberReapsThem, and finds those for which no client asks.
func TestOrphans_OneMemberReapsThem(t *testing.T) {
	r := newRig(t, func(o *state.Options) { o.OrphanAge = time.Nanosecond })
	for _, id := range []string{"a", "odd id"} {
		_, _, err := r.Create(t.Context(), id, &state.State{Job: "token", Status: state.Starting, Prediction: starting(id)})
		assert.NoError(t, err)
	}
	assert.NoError(t, r.ReapOnce(t.Context(), renderer{}))
	for _, id := range []string{"a", "odd id"} {
		s, err := r.State.Read(t.Context(), id)
		assert.True(t, err == nil && s.Status == state.Failed, "%s is %+v, %v, want Status failed", id, s, err)
	}
	_, _, err := r.Create(t.Context(), "b", &state.State{Job: "token", Status: state.Starting, Prediction: starting("b")})
	assert.NoError(t, err)
	assert.NoError(t, r.other("b").ReapOnce(t.Context(), renderer{}))
	s, _ := r.State.Read(t.Context(), "b")
	assert.True(t, s.Status == state.Starting, "another member looked again at once: %+v, want Status starting", s)
}

func TestLost_DeadlineThatPassedEndsAtGET(t *testing.T) {
	r := newRig(t, nil)
	r.accept("p1", func(j *state.Job) { j.Deadline = time.Now().Add(-time.Second) })
	if s := r.state("p1"); s.Status != state.Failed || !strings.Contains(string(s.Prediction), "deadline") {
		t.Errorf(`it is %+v, want Status failed and Prediction with "deadline"`, s)
	}
	r.wantOutcome(r.Queue, r.delivery(r.Queue), consume.Settled) // it must never run
}

// TestLost_ServerThatHasJustConnectedTakesNoJobFromItsHolder: both may have been cut off together.
func TestLost_ServerThatHasJustConnectedTakesNoJobFromItsHolder(t *testing.T) {
	r := newRig(t, func(o *state.Options) { o.Host = nil })
	r.accept("p1")
	r.claims(r.Queue)
	b := r.other("b")
	r.wantOutcome(b, r.delivery(b), consume.MayReconnect)
	b.Live.Connected = time.Now().Add(-live.GraceAfterConnect)
	c := r.claims(b)
	assert.Equal(t, fmt.Sprintf("the %+v", c.State), c.State.Attempt, 2)
	_, err := b.State.NC.Request("pinion.held.m.p1", nil, time.Second)
	assert.True(t, errors.Is(err, nats.ErrTimeout) || errors.Is(err, nats.ErrNoResponders),
		"got %v for a job that no Server runs, want no answer", err)
}
