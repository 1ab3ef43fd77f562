package store_test

import (
	"context"
	"testing"
	"time"

	"pinion/runtime/jobqueue/store"
	"pinion/runtime/jobqueue/store/admin"
	"pinion/runtime/jobqueue/store/consume"
	"pinion/runtime/jobqueue/store/state"
	"pinion/tests/assert"
)

// TestHooks_WebhookStaysWithMemberThatPostsIt for as long as it says so, and goes to another one AckWait after it was
// lost: not after the two minutes of the consumer.
func TestHooks_WebhookStaysWithMemberThatPostsIt(t *testing.T) {
	r := newRig(t, nil)
	posted := func(q *store.Queue) (postings chan consume.Posting, stop func()) {
		t.Helper()
		postings = make(chan consume.Posting, 8)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			if err := q.Jobs.SendHooks(ctx, func(ctx context.Context, p consume.Posting) time.Duration {
				postings <- p
				<-ctx.Done() // its receiver does not answer
				return 0
			}); err != nil {
				t.Error(err)
			}
		}()
		stop = func() {
			cancel()
			<-ended
		}
		t.Cleanup(stop)
		return postings, stop
	}
	r.accept("p1")
	assert.NoError(t, r.claims(r.Queue).End(t.Context(), state.Succeeded, starting("p1")))
	a := r.other("b")
	first, _ := posted(a)
	<-first
	second, stop := posted(r.other("c"))
	signs := r.seen("$JS.ACK." + r.State.Names.Hooks() + ".>")
	r.eventually("it is posted for longer than AckWait", func() bool { return signs() > 6 }) // three in each
	select {
	case p := <-second:
		t.Fatalf("another member posted %s, too, want one delivery", p.ID)
	default:
	}
	a.State.NC.Close() // as kill -9 does
	r.eventually("another member posts it", func() bool { return len(second) == 1 })
	if p := <-second; p.ID != "p1" || p.Tries != 2 || p.Hook.URL != "http://hook.test/p1" {
		t.Errorf(`it got %+v, want ID p1, Tries 2 and URL "http://hook.test/p1"`, p)
	}
	stop()
	third, _ := posted(r.other("d"))
	r.eventually("it left, and a third posts it at once", func() bool { return len(third) == 1 })
	assert.Equal(t, "try", (<-third).Tries, 3)
}

// TestHooks_WebhookThatSilentMemberPulled goes to another member after AckWait, as its job would: the first gave no sign
// after the pull.
func TestHooks_WebhookThatSilentMemberPulled(t *testing.T) {
	r := newRig(t, nil)
	r.accept("p1")
	assert.NoError(t, r.claims(r.Queue).End(t.Context(), state.Succeeded, starting("p1")))
	silent, err := r.State.JS.Consumer(t.Context(), r.State.Names.Hooks(), state.Sender)
	assert.NoError(t, err)
	_, err = silent.Next()
	assert.NoError(t, err)
	tries := make(chan int, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		_ = r.other("b").Jobs.SendHooks(ctx, func(_ context.Context, p consume.Posting) time.Duration {
			tries <- p.Tries
			return 0
		})
	}()
	assert.TrueNow(t, assert.Within(time.Minute, time.Millisecond, func() bool { return len(tries) == 1 }),
		"no other member posts it within a minute, want one after %s", r.State.Options.AckWait)
	assert.Equal(t, "try", <-tries, 2)
}

// TestHooks_QueueOfOlderServer is joined as it is, so that older servers still can, until limits are applied.
func TestHooks_QueueOfOlderServer(t *testing.T) {
	r := newRig(t, nil)
	wait := func() time.Duration {
		c := assert.Must(r.State.JS.Consumer(t.Context(), r.State.Names.Hooks(), state.Sender))(t)
		return c.CachedInfo().Config.AckWait
	}
	older := r.State.Options.AllConsumers()[0]
	older.Config.AckWait = state.OlderHookWait
	_, err := r.State.JS.UpdateConsumer(t.Context(), older.Stream, older.Config)
	assert.NoError(t, err)
	r.other("b")
	assert.Equal(t, "AckWait once it has joined", wait(), state.OlderHookWait)
	_, err = r.admin().Apply(t.Context(), admin.Limits{Lanes: &r.State.Options.Lanes})
	assert.NoError(t, err)
	assert.Equal(t, "AckWait once limits are applied", wait(), r.State.Options.AckWait)
}
