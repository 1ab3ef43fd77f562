package store

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"pinion/tests/assert"
)

// TestLost_StateWithoutJobEnds is trap 3: the publish failed, no client repeated it, and the state would be "starting"
// forever.
func TestLost_StateWithoutJobEnds(t *testing.T) {
	r := newRig(t, func(o *Options) { o.orphanAge = 2 * time.Second })
	_, _, err := r.create(t.Context(), "lost",
		&State{Job: "token", Status: Starting, Prediction: starting("lost"), Hook: &Hook{URL: "u"}})
	assert.NoError(t, err)
	r.accept("waits")
	assert.EqualNow(t, "the status of a state that is new", r.state("lost").Status, Starting)
	r.eventually("the state ends", func() bool {
		// The oldest job is not younger than the state by as much as it must be: take it away.
		if c := r.state("waits"); c.Status == Starting {
			assert.NoError(t, r.claims(r.Queue).End(t.Context(), Succeeded, starting("waits")))
		}
		return r.state("lost").Status == Failed
	})
	assert.Contains(t, "the prediction", string(r.state("lost").Prediction), "lost by the queue")
	assert.Equal(t, "webhooks stored", r.messages(r.names.hooks()), 2)
}

// TestLost_JobThatWaitsIsNotLost: a queue that waits for long is not a loss.
func TestLost_JobThatWaitsIsNotLost(t *testing.T) {
	r := newRig(t, func(o *Options) { o.orphanAge = time.Nanosecond })
	r.accept("waits")
	c := r.claims(r.Queue)
	assert.Equal(t, "the status of a job that runs", r.state("waits").Status, Processing)
	assert.NoError(t, c.Release(t.Context(), starting("waits")))
	assert.Equal(t, "the status of a job that waits again", r.state("waits").Status, Starting)
}

// TestOrphans_OneMemberReapsThem, and finds those for which no client asks.
func TestOrphans_OneMemberReapsThem(t *testing.T) {
	r := newRig(t, func(o *Options) { o.orphanAge = time.Nanosecond })
	for _, id := range []string{"a", "odd id"} {
		_, _, err := r.create(t.Context(), id, &State{Job: "token", Status: Starting, Prediction: starting(id)})
		assert.NoError(t, err)
	}
	assert.NoError(t, r.reapOnce(t.Context(), renderer{}))
	for _, id := range []string{"a", "odd id"} {
		s, err := r.read(t.Context(), id)
		assert.True(t, err == nil && s.Status == Failed, "%s is %+v, %v, want Status failed", id, s, err)
	}
	_, _, err := r.create(t.Context(), "b", &State{Job: "token", Status: Starting, Prediction: starting("b")})
	assert.NoError(t, err)
	assert.NoError(t, r.other("b").reapOnce(t.Context(), renderer{}))
	s, _ := r.read(t.Context(), "b")
	assert.True(t, s.Status == Starting, "another member looked again at once: %+v, want Status starting", s)
}

func TestLost_DeadlineThatPassedEndsAtGET(t *testing.T) {
	r := newRig(t, nil)
	r.accept("p1", func(j *Job) { j.Deadline = time.Now().Add(-time.Second) })
	if s := r.state("p1"); s.Status != Failed || !strings.Contains(string(s.Prediction), "deadline") {
		t.Errorf(`it is %+v, want Status failed and Prediction with "deadline"`, s)
	}
	r.wantOutcome(r.Queue, r.delivery(r.Queue), settled) // it must never run
}

// TestLost_ServerThatHasJustConnectedTakesNoJobFromItsHolder: both may have been cut off together.
func TestLost_ServerThatHasJustConnectedTakesNoJobFromItsHolder(t *testing.T) {
	r := newRig(t, func(o *Options) { o.Host = nil })
	r.accept("p1")
	r.claims(r.Queue)
	b := r.other("b")
	r.wantOutcome(b, r.delivery(b), mayReconnect)
	b.connected = time.Now().Add(-graceAfterConnect)
	c := r.claims(b)
	assert.Equal(t, fmt.Sprintf("the %+v", c.State), c.State.Attempt, 2)
	_, err := b.nc.Request("pinion.held.m.p1", nil, time.Second)
	assert.True(t, errors.Is(err, nats.ErrTimeout) || errors.Is(err, nats.ErrNoResponders),
		"got %v for a job that no Server runs, want no answer", err)
}
