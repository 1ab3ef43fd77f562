package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pinion/runtime/jobqueue/store/consume"
	"pinion/runtime/jobqueue/store/state"
	"pinion/tests/assert"
)

// What a job costs is its exchanges with NATS.

// seen counts the messages of a subject. Its result is what has been sent by now.
func (r *rig) seen(subject string) func() int {
	r.t.Helper()
	sub := assert.Must(r.State.NC.SubscribeSync(subject))(r.t)
	r.t.Cleanup(func() { _ = sub.Unsubscribe() })
	return func() int {
		assert.NoError(r.t, r.State.NC.Flush())
		n, _, err := sub.Pending()
		assert.NoError(r.t, err)
		return n
	}
}

// TestExchanges_FirstClaimReadsNoState: the message carries it. Where it has moved since, the swap of the claim finds
// that out.
func TestExchanges_FirstClaimReadsNoState(t *testing.T) {
	r := newRig(t, nil)
	reads := r.seen("$JS.API.STREAM.MSG.GET." + r.State.Names.States())
	r.accept("p1")
	c := r.claims(r.Queue)
	assert.NoError(t, c.End(t.Context(), state.Succeeded, starting("p1")))
	assert.Equal(t, "reads of the state", reads(), 0)

	j := state.Job{ID: "again", Kind: state.Prediction, Class: state.Normal, Attempts: 3}
	r.accept("again")
	if _, err := r.Accept(t.Context(), j, starting("again"), true); err != nil { // swaps the state
		t.Fatal(err)
	}
	before := reads()
	if c := r.claims(r.Queue); c.State.Attempt != 1 || c.State.Hook == nil || reads() == before {
		t.Errorf("a state that has moved: %+v, want Attempt 1, Hook non-nil and reads not %d", c.State, before)
	}

	r.accept("large", func(j *state.Job) {
		j.Hook = &state.Hook{URL: "http://hook.test/" + strings.Repeat("x", state.MaxAttachedState)}
	})
	if c := r.claims(r.Queue); len(c.State.Hook.URL) < state.MaxAttachedState {
		t.Errorf("a state that is not carried: %+v, want at least %d bytes", c.State, state.MaxAttachedState)
	}
}

// TestExchanges_StartOfShortJobIsNotTold if the member that waits for it wants to know of starts later.
func TestExchanges_StartOfShortJobIsNotTold(t *testing.T) {
	r := newRig(t, nil)
	notices := r.seen("pinion.reply.m.>")
	for id, after := range map[string]time.Duration{"short": time.Minute, "long": time.Millisecond, "stream": 0} {
		r.accept(id, func(j *state.Job) { j.Reply, j.NotifyStartAfter = r.Live.ReplySubject(id), after })
	}
	var long *consume.Claim
	for range 3 {
		c := r.claims(r.Queue)
		before := notices()
		stop := c.NotifyStart()
		switch c.Job.ID {
		case "long":
			long = c
			r.eventually("the start of a job that runs is told", func() bool { return notices() == before+1 })
		case "stream":
			got := notices()
			assert.True(t, got == before+1, "got %d notices of a start that is wanted at once, want 1", got-before)
		}
		stop()
		assert.NoError(t, c.End(t.Context(), state.Succeeded, starting(c.Job.ID)))
	}
	got := notices()
	assert.True(t, long != nil && got == 2+3, "got %d notices, want 2 starts and 3 ends", got)
}

func TestExchanges_CanceledJobIsNotRunByWhatItCarries(t *testing.T) {
	r := newRig(t, nil)
	r.accept("p1")
	m := r.delivery(r.Queue)
	r.cancels(r.Queue, "p1", "")
	r.wantOutcome(r.Queue, m, consume.Settled)
	assert.Equal(t, "its status", r.state("p1").Status, state.Canceled)
}

// TestExchanges_CancelTakesOneReadAndTwoWrites: the server that runs the job is told the state that the cancel wrote,
// so it writes the end without a look at it.
func TestExchanges_CancelTakesOneReadAndTwoWrites(t *testing.T) {
	r := newRig(t, nil)
	runs := make(chan struct{})
	r.serve(r.other("b"), newRunner(1, func(ctx context.Context, c *consume.Claim) (state.Status, []byte) {
		close(runs)
		<-ctx.Done()
		return state.Canceled, renderer{}.RenderEnded(&c.Job, nil, state.Canceled, "")
	}))
	r.accept("p1")
	<-runs
	reads, writes := r.seen("$JS.API.STREAM.MSG.GET."+r.State.Names.States()), r.seen(r.State.Names.StateKey("p1"))
	r.cancels(r.Queue, "p1", state.Prediction)
	r.eventually("its message is gone", func() bool { return r.messages(r.State.Names.Jobs()) == 0 })
	assert.Equal(t, "reads and writes", [2]int{reads(), writes()}, [2]int{1, 2})
	s := r.state("p1")
	assert.True(t, s.Status == state.Canceled && s.Cancel, "it is %+v, want Status canceled and Cancel true", s)
	_, err := r.Cancel(t.Context(), "p1", state.Training, renderer{})
	assert.True(t, errors.Is(err, state.ErrUnknown), "as a training: %v, want ErrUnknown", err)
}

// TestExchanges_UrgentJobThatWasGivenBackComesFirst: a pull got it while no job was wanted.
func TestExchanges_UrgentJobThatWasGivenBackComesFirst(t *testing.T) {
	r := newRig(t, func(o *state.Options) { o.AckWait = 30 * time.Second })
	p := assert.Must(consume.NewPuller(t.Context(), r.Jobs, ""))(t)
	defer p.Close()
	next := func() string {
		for {
			list := p.Next(t.Context(), 1)
			if len(list) == 0 {
				continue
			}
			assert.NoError(t, list[0].DoubleAck(t.Context()))
			return list[0].Headers().Get(state.HeaderID)
		}
	}
	waits := func(class state.Class) int { return r.consumerInfo(state.Consumer(class, 0)).NumWaiting }
	naks := assert.Must(r.State.NC.SubscribeSync("$JS.EVENT.ADVISORY.CONSUMER.MSG_NAKED.>"))(t)
	for i := range 5 {
		first := make(chan string)
		go func() { first <- next() }()
		r.eventually("it waits at each class", func() bool { return waits(state.High)+waits(state.Normal)+waits(state.Low) == len(state.Classes) })
		r.accept(fmt.Sprint("std", i))
		<-first
		r.accept(fmt.Sprint("hi", i), func(j *state.Job) { j.Class = state.High })
		r.eventually("a pull got it and gave it back, or none was open any more", func() bool {
			_, err := naks.NextMsg(time.Millisecond)
			return err == nil || r.consumerInfo(state.Consumer(state.High, 0)).NumPending == 1
		})
		r.accept(fmt.Sprint("behind", i))
		p.Turn = 0 // some turns begin with another class
		assert.EqualNow(t, "came first", next(), fmt.Sprint("hi", i))
		next()
	}
}

// TestExchanges_IdleServerPullsOnceForJob: where a pull waits for a class no job does, so it need not be asked for that
// class again.
func TestExchanges_IdleServerPullsOnceForJob(t *testing.T) {
	r := newRig(t, nil)
	run := newRunner(1, succeed)
	r.serve(r.other("b"), run)
	pulls := r.seen("$JS.API.CONSUMER.MSG.NEXT." + r.State.Names.Jobs() + ".>")
	waits := func() bool {
		n := 0
		for _, class := range state.Classes {
			n += r.consumerInfo(state.Consumer(class, 0)).NumWaiting
		}
		return n == len(state.Classes)
	}
	r.eventually("it waits at each class", waits)
	const jobs = 20
	before := pulls()
	for i := range jobs {
		id := fmt.Sprint("p", i)
		r.accept(id)
		r.eventually("it ran", func() bool { return run.count(id) == 1 })
		r.eventually("it waits at each class again", waits)
	}
	// Each pull that waits is renewed now and then.
	n := pulls() - before
	assert.True(t, n <= 2*jobs, "%d pulls for %d jobs, want at most %d", n, jobs, 2*jobs)
}
