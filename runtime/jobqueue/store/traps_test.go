package store_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"pinion/runtime/jobqueue/store"
	"pinion/runtime/jobqueue/store/consume"
	"pinion/runtime/jobqueue/store/state"
	"pinion/tests/assert"
)

// Mistakes of code that uses JetStream with its defaults.

// consumerInfo returns what JetStream says of a lane.
func (r *rig) consumerInfo(name string) *jetstream.ConsumerInfo {
	r.t.Helper()
	c := assert.Must(r.State.JS.Consumer(r.t.Context(), r.State.Names.Jobs(), name))(r.t)
	return c.CachedInfo()
}

// TestTraps_IdlePlaceWaitsAtEveryLane: a place that went from lane to lane would leave all others without a pull, and
// their jobs waiting. Without a free place, no pull waits: what it got would wait for AckWait.
func TestTraps_IdlePlaceWaitsAtEveryLane(t *testing.T) {
	const lanes = 8
	r := newRig(t, func(o *state.Options) { o.Lanes, o.AckWait = lanes, 30*time.Second })
	pulls := func() (total, without int) {
		for _, class := range state.Classes {
			for lane := range lanes {
				n := r.consumerInfo(state.Consumer(class, lane)).NumWaiting
				if total += n; n == 0 {
					without++
				}
			}
		}
		return total, without
	}
	gate := make(chan struct{})
	run := newRunner(1, succeedAfter(gate))
	r.serve(r.other("b"), run)
	defer close(gate)
	r.eventually("a pull waits at each lane", func() bool { _, without := pulls(); return without == 0 })
	r.accept("p1")
	r.eventually("it runs", func() bool { return run.count("p1") == 1 })
	r.eventually("no pull waits while the only place is taken", func() bool { total, _ := pulls(); return total == 0 })
}

// TestTraps_LagCountsWhatRuns: an autoscaler that saw what waits alone would take away the servers that work.
func TestTraps_LagCountsWhatRuns(t *testing.T) {
	r := newRig(t, func(o *state.Options) { o.AckWait = 30 * time.Second })
	gate := make(chan struct{})
	run := newRunner(1, succeedAfter(gate))
	r.serve(r.other("b"), run)
	for i := range 3 {
		r.accept(fmt.Sprint("p", i))
	}
	r.eventually("one runs", func() bool { return run.count("p0") == 1 })
	// A job that a pull got and gave back counts as delivered until the next one has it.
	r.eventually("one counts as running, and three as running or waiting", func() bool {
		info := r.consumerInfo(state.Consumer(state.Normal, 0))
		return info.NumPending+uint64(info.NumAckPending) == 3 && info.NumAckPending > 0
	})
	close(gate)
	r.eventually("nothing is left", func() bool {
		info := r.consumerInfo(state.Consumer(state.Normal, 0))
		return info.NumPending == 0 && info.NumAckPending == 0
	})
}

// TestTraps_StatesAreReadFromLeader: a bucket as package jetstream makes it answers reads from followers, which may be
// old.
func TestTraps_StatesAreReadFromLeader(t *testing.T) {
	r := newRig(t, nil)
	direct := assert.Must(r.State.NC.SubscribeSync("$JS.API.DIRECT.GET.>"))(t)
	r.serve(r.other("b"), newRunner(1, succeed))
	r.accept("p1")
	r.eventually("it ended", func() bool { return r.state("p1").Status == state.Succeeded })
	assert.NoError(t, r.State.NC.Flush())
	n, _, err := direct.Pending()
	assert.True(t, n == 0 && err == nil, "%d reads from followers, %v, want 0", n, err)

	bucket := assert.Must(r.State.JS.CreateKeyValue(t.Context(),
		jetstream.KeyValueConfig{Bucket: "pinion_state_other", History: 1, LimitMarkerTTL: time.Second}))(t)
	if _, err := bucket.Get(t.Context(), "id.p1"); !errors.Is(err, jetstream.ErrKeyNotFound) {
		t.Fatal(err)
	}
	m, err := direct.NextMsg(10 * time.Second)
	assert.True(t, err == nil, "the read of a plain bucket was not seen, so this test shows nothing: %v, got %v, want no error", m, err)
	o := r.State.Options
	o.Model = "other"
	var other *state.MismatchError
	if _, err := store.Open(t.Context(), state.Connected(r.State.NC), o); !errors.As(err, &other) || other.Field != "allow_direct" {
		t.Errorf("a plain bucket is taken: %v, want an error of type *MismatchError and Field allow_direct", err)
	}
}

// TestTraps_OutageShorterThanAckWaitLosesNoJob: an election among the servers of NATS takes seconds, in which no
// heartbeat gets through.
func TestTraps_OutageShorterThanAckWaitLosesNoJob(t *testing.T) {
	if o := (state.Options{}).WithDefaults(); o.AckWait < 3*8800*time.Millisecond { // an election of 8.8 s was seen
		t.Errorf("AckWait is %s, want at least %v", o.AckWait, 3*8800*time.Millisecond)
	}
	r := newRig(t, func(o *state.Options) { o.AckWait = 6 * time.Second })
	gate := make(chan struct{})
	run := newRunner(1, func(ctx context.Context, c *consume.Claim) (state.Status, []byte) {
		select {
		case <-gate:
			return succeed(ctx, c)
		case <-ctx.Done():
			return state.Canceled, renderer{}.RenderEnded(&c.Job, nil, state.Canceled, "")
		}
	})
	holder := r.other("b")
	r.serve(holder, run)
	r.accept("p1")
	r.eventually("it runs", func() bool { return run.count("p1") == 1 })
	r.server.mu.Lock()
	r.server.s.Close()
	r.eventually("the holder has lost its connection", func() bool { return holder.State.NC.Status() == nats.RECONNECTING })
	r.server.start(t)
	r.server.mu.Unlock()
	other := newRunner(1, succeed)
	second := r.other("c")
	r.serve(second, other)
	r.eventually("the holder is connected again", func() bool { return holder.State.NC.IsConnected() })
	r.accept("p2", func(j *state.Job) { j.Class = state.High })
	r.eventually("the other server runs what waits", func() bool { return other.count("p2") == 1 })
	close(gate)
	r.eventually("it ended", func() bool { return r.state("p1").Status == state.Succeeded })
	if s := r.state("p1"); s.Attempt != 1 || other.count("p1") != 0 || second.Jobs.Stats().Redelivered != 0 {
		t.Errorf("it ran again: %+v, want Attempt 1, p1 0 and Redelivered 0", s)
	}
}
