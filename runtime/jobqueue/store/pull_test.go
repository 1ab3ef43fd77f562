package store_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"pinion/runtime/jobqueue/store/consume"
	"pinion/runtime/jobqueue/store/state"
	"pinion/tests/assert"
)

// deliveries returns how often a claimed job was delivered.
func deliveries(t *testing.T, c *consume.Claim) uint64 {
	meta, err := c.M.Metadata()
	if err != nil {
		t.Error(err)
		return 0
	}
	return meta.NumDelivered
}

// awaitPending waits until the consumer knows of n jobs: JetStream stores a job before it tells the consumers of it.
func (r *rig) awaitPending(n uint64) {
	r.t.Helper()
	r.eventually(fmt.Sprintf("the consumer knows of %d jobs", n),
		func() bool { return r.consumerInfo(state.Consumer(state.Normal, 0)).NumPending == n })
}

// TestPull_WithoutStream: the pull of a consumer that is gone is refused at once, so the next one must wait.
func TestPull_WithoutStream(t *testing.T) {
	r := newRig(t, nil)
	r.serve(r.Queue, newRunner(1, succeed))
	r.accept("first")
	r.eventually("it serves", func() bool { return r.state("first").Status == state.Succeeded })
	assert.NoError(t, r.State.JS.DeleteStream(t.Context(), r.State.Names.Jobs()))
	begin, before := time.Now(), r.State.NC.Stats().OutMsgs
	r.eventually("it pulls on", func() bool { return r.State.NC.Stats().OutMsgs > before+12 })
	took := time.Since(begin)
	assert.True(t, took >= time.Second, "got 12 pulls in %s, want each consumer's a second apart", took)
}

// TestPull_NothingIsPulledForBusyPlace: a pull that is open though no place is free would take a job from another
// server, and give it back.
func TestPull_NothingIsPulledForBusyPlace(t *testing.T) {
	r := newRig(t, nil)
	end := make(chan struct{})
	r.serve(r.Queue, newRunner(1, func(ctx context.Context, c *consume.Claim) (state.Status, []byte) {
		assert.Equal(t, c.Job.ID+" deliveries", deliveries(t, c), 1)
		<-end
		return succeed(ctx, c)
	}))
	for i := range 20 { // none waits when the first of two comes
		first, second := fmt.Sprintf("p%d", 2*i), fmt.Sprintf("p%d", 2*i+1)
		r.accept(first)
		r.eventually(first+" runs", func() bool { return r.state(first).Status == state.Processing })
		r.accept(second)
		end <- struct{}{}
		end <- struct{}{}
		r.eventually(second+" succeeds", func() bool { return r.state(second).Status == state.Succeeded })
	}
}

// TestPull_WaitingJobIsPrefetched of a place, once, and is the next one.
func TestPull_WaitingJobIsPrefetched(t *testing.T) {
	r := newRig(t, nil)
	p := assert.Must(consume.NewPuller(t.Context(), r.Jobs, ""))(t)
	defer p.Close()
	for i := range 3 {
		r.accept(fmt.Sprint("p", i))
	}
	r.awaitPending(3)
	for i := range 3 {
		found := p.Next(t.Context(), 1)
		assert.EqualNow(t, "jobs", len(found), 1)
		assert.EqualNow(t, "found[0].Headers().Get(headerID)", found[0].Headers().Get(state.HeaderID), fmt.Sprint("p", i))
		p.Prefetch()
		p.Prefetch()
		assert.Equal(t, "delivered", r.consumerInfo(state.Consumer(state.Normal, 0)).NumAckPending, min(3, i+2))
	}
}

// TestPull_PrefetchedJobIsReleased: where no place becomes free it is given back, unclaimed.
func TestPull_PrefetchedJobIsReleased(t *testing.T) {
	r := newRig(t, func(o *state.Options) { o.AckWait = 30 * time.Second })
	naks, err := r.State.NC.SubscribeSync("$JS.EVENT.ADVISORY.CONSUMER.MSG_NAKED.>")
	assert.NoError(t, err)
	end := make(chan struct{})
	defer close(end)
	busy := newRunner(1, succeedAfter(end))
	busy.time = time.Millisecond // so it was until now
	r.accept("runs")
	r.accept("waits")
	r.awaitPending(2)
	r.serve(r.Queue, busy)
	_, err = naks.NextMsg(20 * time.Second)
	assert.NoError(t, err)
	s := r.state("waits")
	assert.True(t, s.Status == state.Starting && s.Attempt == 0, "it was claimed: %+v, want Status starting and Attempt 0", s)
	r.serve(r.other("b"), newRunner(1, succeed))
	r.eventually("another server has run it", func() bool { return r.state("waits").Status == state.Succeeded })
	if s := r.state("runs"); s.Status != state.Processing || busy.count("waits") != 0 {
		t.Errorf("the first is %s, and the other one ran %d times here, want processing and 0", s.Status, busy.count("waits"))
	}
}
