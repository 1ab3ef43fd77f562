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
	t.Parallel()
	r := newRig(t, func(o *Options) { o.orphanAge = 2 * time.Second })
	if _, _, err := r.create(t.Context(), "lost",
		&State{Job: "token", Status: Starting, Prediction: starting("lost"), Hook: &Hook{URL: "u"}}); err != nil {
		t.Fatal(err)
	}
	r.accept("waits")
	if s := r.state("lost"); s.Status != Starting {
		t.Fatalf("a state that is new is %+v, want Status starting", s)
	}
	r.eventually("the state ends", func() bool {
		// The oldest job is not younger than the state by as much as it must be: take it away.
		if c := r.state("waits"); c.Status == Starting {
			assert.NoError(t, r.claims(r.Queue).End(t.Context(), Succeeded, starting("waits")))
		}
		return r.state("lost").Status == Failed
	})
	if s := r.state("lost"); !strings.Contains(string(s.Prediction), "lost by the queue") {
		t.Errorf(`it is %s, want it to contain "lost by the queue"`, s.Prediction)
	}
	assert.Equal(t, "webhooks stored", r.messages(r.names.hooks()), 2)
}

// TestLost_JobThatWaitsIsNotLost: a queue that waits for long is not a loss.
func TestLost_JobThatWaitsIsNotLost(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *Options) { o.orphanAge = time.Nanosecond })
	r.accept("waits")
	c := r.claims(r.Queue)
	if s := r.state("waits"); s.Status != Processing {
		t.Errorf("a job that runs is %+v, want Status processing", s)
	}
	assert.NoError(t, c.Release(t.Context(), starting("waits")))
	if s := r.state("waits"); s.Status != Starting {
		t.Errorf("a job that waits again is %+v, want Status starting", s)
	}
}

// TestOrphans_OneMemberReapsThem, and finds those for which no client asks.
func TestOrphans_OneMemberReapsThem(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *Options) { o.orphanAge = time.Nanosecond })
	for _, id := range []string{"a", "odd id"} {
		if _, _, err := r.create(t.Context(), id,
			&State{Job: "token", Status: Starting, Prediction: starting(id)}); err != nil {
			t.Fatal(err)
		}
	}
	assert.NoError(t, r.reapOnce(t.Context(), renderer{}))
	for _, id := range []string{"a", "odd id"} {
		if s, err := r.read(t.Context(), id); err != nil || s.Status != Failed {
			t.Errorf("%s is %+v, %v, want Status failed", id, s, err)
		}
	}
	if _, _, err := r.create(t.Context(), "b",
		&State{Job: "token", Status: Starting, Prediction: starting("b")}); err != nil {
		t.Fatal(err)
	}
	assert.NoError(t, r.other("b").reapOnce(t.Context(), renderer{}))
	if s, _ := r.read(t.Context(), "b"); s.Status != Starting {
		t.Errorf("another member looked again at once: %+v, want Status starting", s)
	}
}

func TestLost_DeadlineThatPassedEndsAtGET(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.accept("p1", func(j *Job) { j.Deadline = time.Now().Add(-time.Second) })
	if s := r.state("p1"); s.Status != Failed || !strings.Contains(string(s.Prediction), "deadline") {
		t.Errorf(`it is %+v, want Status failed and Prediction with "deadline"`, s)
	}
	if _, what := r.claim(t.Context(), r.delivery(r.Queue), noSlot{}, renderer{}, nil); what != settled {
		t.Errorf("its message is %s, want settled: it must never run", what)
	}
}

// TestLost_ServerThatHasJustConnectedTakesNoJobFromItsHolder: both may have been cut off together.
func TestLost_ServerThatHasJustConnectedTakesNoJobFromItsHolder(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *Options) { o.Embedded = nil })
	r.accept("p1")
	r.claims(r.Queue)
	b := r.other("b")
	if _, what := b.claim(t.Context(), r.delivery(b), noSlot{}, renderer{}, nil); what != mayReconnect {
		t.Errorf("a server that has just connected: %s, want early", what)
	}
	b.connected = time.Now().Add(-graceAfterConnect)
	c := r.claims(b)
	assert.Equal(t, fmt.Sprintf("the %+v", c.State), c.State.Attempt, 2)
	if _, err := b.nc.Request("pinion.held.m.p1", nil, time.Second); err == nil {
		t.Error("a job that no Server runs is held: got no error, want an error")
	} else if !errors.Is(err, nats.ErrTimeout) && !errors.Is(err, nats.ErrNoResponders) {
		t.Error(err)
	}
}
