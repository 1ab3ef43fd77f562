package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pinion/runtime/jobqueue/store/consume"
	"pinion/runtime/jobqueue/store/state"
	"pinion/tests/assert"
)

func TestJobs_ServerThatIsLostLosesItsJob(t *testing.T) {
	r := newRig(t, nil)
	r.accept("p1")
	first := r.claims(r.Queue) // and never beats
	b := r.other("b")
	second := r.claims(b)
	s := r.state("p1")
	assert.True(t, s.Attempt == 2 && s.Lost == 1 && s.Server == "b", "the state is %+v, want Attempt 2, Lost 1 and Server b", s)
	assert.Equal(t, "the first server's heartbeat", first.Beat(t.Context()), consume.Lost)
	assert.ErrorIs(t, "end", first.End(t.Context(), state.Succeeded, json.RawMessage(`"late"`)), state.ErrLost)
	assert.ErrorIs(t, "the end of the second run", second.End(t.Context(), state.Succeeded, json.RawMessage(`"second"`)), nil)
	assert.Equal(t, "the result", string(r.state("p1").Prediction), `"second"`)
}

// TestJobs_StaleAckLosesJob is trap 1: a server that acknowledges without asking whether the job is still its own
// removes it. The message is then gone though its job runs elsewhere: if that server is lost too the job never ends.
// Claim.End does not.
func TestJobs_StaleAckLosesJob(t *testing.T) {
	t.Parallel()
	for _, fenced := range []bool{false, true} {
		t.Run(fmt.Sprintf("fenced %t", fenced), func(t *testing.T) {
			r := newRig(t, nil)
			r.accept("p1")
			first := r.claims(r.Queue)
			r.claims(r.other("b"))
			if fenced {
				err := first.End(t.Context(), state.Succeeded, starting("p1"))
				assert.TrueNow(t, errors.Is(err, state.ErrLost), "got %v, want ErrLost", err)
			} else {
				naive(t, first.M)
			}
			want := uint64(0) // lost
			if fenced {
				want = 1
			}
			r.eventually("the message is or is not there", func() bool { return r.messages(r.State.Names.Jobs()) == want })
			if fenced { // b is lost too, and c ends it
				assert.NoError(t, r.claims(r.other("c")).End(t.Context(), state.Succeeded, starting("p1")))
			}
		})
	}
}

func TestJobs_HolderThatAnswersKeepsItsJob(t *testing.T) {
	r := newRig(t, nil)
	release := make(chan struct{})
	run := newRunner(1, succeedAfter(release))
	r.serve(r.Queue, run)
	r.accept("p1")
	r.eventually("p1 runs", func() bool { return run.count("p1") == 1 })
	m := r.redelivery(r.other("b")) // as after a failover that delivers twice
	r.wantOutcome(r.other("b"), m, consume.Elsewhere)
	close(release)
	r.eventually("p1 succeeds", func() bool { return r.state("p1").Status == state.Succeeded })
	assert.Equal(t, "runs", run.count("p1"), 1)
}

func TestJob_ThatKillsServersIsDeadLetter(t *testing.T) {
	r := newRig(t, nil)
	r.accept("p1", func(j *state.Job) { j.Attempts = 2 })
	r.claims(r.Queue)
	r.claims(r.other("b"))
	_, what := r.other("c").Jobs.Claim(t.Context(), r.delivery(r.Queue), noSlot{}, renderer{}, nil)
	if s := r.state("p1"); what != consume.Settled || s.Status != state.Failed || s.Lost != 2 ||
		!strings.Contains(string(s.Prediction), "gave up after 2 attempts") {
		t.Errorf(`%s: %+v, want what settled, Status failed, Lost 2 and Prediction with "gave up after 2 attempts"`, what, s)
	}
	r.eventually("its dead letter is left",
		func() bool { return r.messages(r.State.Names.Dead()) == 1 && r.messages(r.State.Names.Jobs()) == 0 })
}

// TestLost_JobOfLostWaiterNeverRuns: a server that comes a moment after its member was killed finds it canceled.
func TestLost_JobOfLostWaiterNeverRuns(t *testing.T) {
	r := newRig(t, nil)
	r.accept("p1", func(j *state.Job) { j.Waiter = "pinion.alive.m.killed" })
	accepted := time.Now()
	r.eventually("it has waited", func() bool { return time.Since(accepted) > consume.WaiterCheckAge })
	run := newRunner(1, succeed)
	r.serve(r.other("b"), run)
	r.eventually("it has ended", func() bool { return r.state("p1").Status.Ended() })
	assert.Equal(t, "status", r.state("p1").Status, state.Canceled)
	assert.Equal(t, "runs", run.count("p1"), 0)
}
