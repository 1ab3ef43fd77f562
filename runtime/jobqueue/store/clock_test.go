package store_test

import (
	"testing"
	"time"

	"pinion/runtime/jobqueue/store/state"
	"pinion/tests/assert"
)

// TestClock_BeforeFirstReading returns this process's time, and a conversion of a time reads the clock of NATS.
func TestClock_BeforeFirstReading(t *testing.T) {
	r := newRig(t, nil)
	q := assert.Must(state.New(state.Connected(r.State.NC), r.State.Options))(t)
	q.Jobs = r.State.Jobs
	got := q.Clock.Now()
	assert.True(t, time.Since(got).Abs() <= time.Minute, "got %s, want this process's time", got)
	if got := q.Now(t.Context()); time.Since(got).Abs() > time.Minute || q.Clock.Last.Load() == nil {
		t.Errorf("got %s and the reading %v, want the time of NATS", got, q.Clock.Last.Load())
	}
}

// TestClock_AnswersForOperator who is not a member: the deadline of a job that waits is by the time of NATS.
func TestClock_AnswersForOperator(t *testing.T) {
	r := newRig(t, nil)
	r.accept("late", func(j *state.Job) { j.Deadline = time.Now().Add(time.Millisecond) })
	for a := r.admin(); ; {
		if a.Q.State.Now(t.Context()).After(time.UnixMilli(r.state("late").Deadline)) {
			canceled, err := a.Cancel(t.Context(), "late", renderer{})
			if err != nil || !canceled && !r.state("late").Status.Ended() {
				t.Errorf("got %t, %v, and the job is %s: Ended = false, want true", canceled, err, r.state("late").Status)
			}
			return
		}
	}
}
