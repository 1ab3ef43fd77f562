package store_test

import (
	"bytes"
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"pinion/runtime/jobqueue/store"
	"pinion/runtime/jobqueue/store/consume"
	"pinion/runtime/jobqueue/store/live"
	"pinion/runtime/jobqueue/store/state"
	"pinion/tests/assert"
)

// followable runs jobs until they are canceled. Each can be followed once begin is closed.
func followable(begin <-chan struct{}) *runner {
	var begun atomic.Bool
	run := newRunner(1, func(ctx context.Context, c *consume.Claim) (state.Status, []byte) {
		<-begin
		begun.Store(true)
		defer c.NotifyStart()()
		<-ctx.Done()
		return state.Canceled, renderer{}.RenderEnded(&c.Job, nil, state.Canceled, "")
	})
	run.follow = func(_ string, send func(live.Event) bool) {
		if begun.Load() {
			send(live.Event{Event: live.EventStart})
		}
	}
	return run
}

// attach has a server get a stream's request. NATS must know the stream's inbox before: another connection writes to it.
func attach(t *testing.T, s *consume.Server, stream *live.Stream) {
	t.Helper()
	assert.NoError(t, stream.Q.State.NC.Flush())
	s.OnAttach(&nats.Msg{Subject: stream.Q.State.Names.About("attach", stream.ID), Reply: stream.Sub.Subject})
}

// wantStart reads the first event of a stream.
func wantStart(t *testing.T, events <-chan *nats.Msg) {
	t.Helper()
	select {
	case m := <-events:
		assert.True(t, bytes.Contains(m.Data, []byte(`"attempt":1`)) && bytes.Contains(m.Data, []byte(`"event":"start"`)),
			"got the event %s, want the start of attempt 1", m.Data)
	case <-time.After(20 * time.Second):
		t.Fatal("got no event, want a start")
	}
}

// TestStream_JobThatIsClaimedAndHasNotBegun: clients see that it is processing before it can be followed.
func TestStream_JobThatIsClaimedAndHasNotBegun(t *testing.T) {
	r := newRig(t, nil)
	begin := make(chan struct{})
	s, _, _ := r.serve(r.Queue, followable(begin))
	t.Cleanup(func() { s.Release(nil) })
	r.accept("p1")
	r.eventually("it is claimed", func() bool { return r.state("p1").Status == state.Processing })
	stream := assert.Must(r.other("b").Live.Follow("p1"))(t)
	defer stream.Close()
	attach(t, s, stream)
	assert.True(t, stream.Request(0, 0), "Request: got false, want true")
	close(begin)
	wantStart(t, stream.C)
	wantStart(t, stream.C) // of the second request
	r.cancels(r.Queue, "p1", "")
}

// heldConn holds back the first write of a claim.
type heldConn struct {
	net.Conn

	reached, release chan struct{}
	once             *sync.Once
}

func (c heldConn) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(`"status":"processing"`)) {
		c.once.Do(func() {
			close(c.reached)
			<-c.release
		})
	}
	return c.Conn.Write(p)
}

// heldServer makes such connections.
type heldServer struct {
	*reopened

	conn heldConn
}

// InProcessConn implements nats.InProcessConnProvider.
func (h heldServer) InProcessConn() (net.Conn, error) {
	conn, err := h.reopened.InProcessConn()
	h.conn.Conn = conn
	return h.conn, err
}

// serveHeld serves at a member whose first claim is being written when serveHeld returns, until release is called.
func (r *rig) serveHeld(run consume.Runner) (s *consume.Server, release func()) {
	r.t.Helper()
	h := heldServer{r.server, heldConn{reached: make(chan struct{}), release: make(chan struct{}), once: new(sync.Once)}}
	nc := assert.Must(nats.Connect("", nats.InProcessServer(h)))(r.t)
	r.t.Cleanup(nc.Close)
	q := assert.Must(store.Open(r.t.Context(), state.Connected(nc), r.State.Options))(r.t)
	release = sync.OnceFunc(func() { close(h.conn.release) })
	s, _, _ = r.serve(q, run)
	r.t.Cleanup(func() {
		s.Release(nil)
		release()
	})
	r.accept("p1")
	select {
	case <-h.conn.reached:
	case <-time.After(20 * time.Second):
		r.t.Fatal("no claim is written")
	}
	return s, release
}

// TestServer_ClaimThatIsBeingWritten: a member that reads the claim may ask before this server learns that it is
// written.
func TestServer_ClaimThatIsBeingWritten(t *testing.T) {
	t.Parallel()
	begin := make(chan struct{})
	close(begin)
	t.Run("follow", func(t *testing.T) {
		r := newRig(t, nil)
		s, release := r.serveHeld(followable(begin))
		stream := assert.Must(r.other("b").Live.Follow("p1"))(t)
		defer stream.Close()
		attach(t, s, stream)
		release()
		wantStart(t, stream.C)
		r.cancels(r.Queue, "p1", "")
	})
	t.Run("cancel", func(t *testing.T) {
		// The heartbeat reads flags of cancels, too: it comes after the test.
		r := newRig(t, func(o *state.Options) { o.AckWait = time.Hour })
		s, release := r.serveHeld(followable(begin))
		s.OnCancel(&nats.Msg{Subject: r.State.Names.About("cancel", "p1")})
		release()
		r.eventually("it is canceled", func() bool { return r.state("p1").Status == state.Canceled })
	})
	t.Run("release", func(t *testing.T) {
		r := newRig(t, nil)
		run := newRunner(1, func(ctx context.Context, c *consume.Claim) (state.Status, []byte) {
			<-ctx.Done()
			return state.Canceled, renderer{}.RenderEnded(&c.Job, nil, state.Canceled, context.Cause(ctx).Error())
		})
		s, release := r.serveHeld(run)
		s.Release(nil)
		release()
		r.eventually("its run is told that the server drains", func() bool {
			return bytes.Contains(r.state("p1").Prediction, []byte(consume.ErrDraining.Error()))
		})
	})
}

// TestServer_AnotherDeliveryOfAJobThatRuns does not hide it.
func TestServer_AnotherDeliveryOfAJobThatRuns(t *testing.T) {
	t.Parallel()
	s := (&consume.Consumer{}).Serve(nil, nil)
	subject := "pinion.held.m." + state.Token("p1")
	registered := func() *consume.Running {
		c := &consume.Claim{Job: state.Job{ID: "p1"}, Begun: make(chan struct{})}
		r := &consume.Running{Claim: c, Cancel: func(error) {}}
		s.Register(r)
		return r
	}
	ended, runs := registered(), registered()
	s.Unregister(ended)
	assert.Equal(t, "once the earlier one", s.Find(subject), runs)
	s.Unregister(runs)
	got := s.Find(subject)
	assert.True(t, got == nil, "got %p once both have ended, want none", got)
}
