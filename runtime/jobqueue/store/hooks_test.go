package store

import (
	"context"
	"testing"
	"time"

	"pinion/tests/assert"
)

// TestHooks_WebhookStaysWithMemberThatPostsIt for as long as it says so, and goes to another one AckWait after it was
// lost: not after the two minutes of the consumer.
func TestHooks_WebhookStaysWithMemberThatPostsIt(t *testing.T) {
	r := newRig(t, nil)
	posted := func(q *Queue) (postings chan Posting, stop func()) {
		t.Helper()
		postings = make(chan Posting, 8)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			if err := q.SendHooks(ctx, func(ctx context.Context, p Posting) time.Duration {
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
	assert.NoError(t, r.claims(r.Queue).End(t.Context(), Succeeded, starting("p1")))
	a := r.other("b")
	first, _ := posted(a)
	<-first
	second, stop := posted(r.other("c"))
	signs := r.seen("$JS.ACK." + r.names.hooks() + ".>")
	r.eventually("it is posted for longer than AckWait", func() bool { return signs() > 6 }) // three in each
	select {
	case p := <-second:
		t.Fatalf("another member posted %s, too, want one delivery", p.ID)
	default:
	}
	a.nc.Close() // as kill -9 does
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
	assert.NoError(t, r.claims(r.Queue).End(t.Context(), Succeeded, starting("p1")))
	silent, err := r.js.Consumer(t.Context(), r.names.hooks(), sender)
	assert.NoError(t, err)
	_, err = silent.Next()
	assert.NoError(t, err)
	tries := make(chan int, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		_ = r.other("b").SendHooks(ctx, func(_ context.Context, p Posting) time.Duration {
			tries <- p.Tries
			return 0
		})
	}()
	assert.TrueNow(t, assert.Within(time.Minute, time.Millisecond, func() bool { return len(tries) == 1 }),
		"no other member posts it within a minute, want one after %s", r.o.AckWait)
	assert.Equal(t, "try", <-tries, 2)
}

// TestHooks_QueueOfOlderServer is joined as it is, so that older servers still can, until limits are applied.
func TestHooks_QueueOfOlderServer(t *testing.T) {
	r := newRig(t, nil)
	wait := func() time.Duration {
		c, err := r.js.Consumer(t.Context(), r.names.hooks(), sender)
		assert.NoError(t, err)
		return c.CachedInfo().Config.AckWait
	}
	older := r.o.allConsumers()[0]
	older.config.AckWait = olderHookWait
	_, err := r.js.UpdateConsumer(t.Context(), older.stream, older.config)
	assert.NoError(t, err)
	r.other("b")
	assert.Equal(t, "AckWait once it has joined", wait(), olderHookWait)
	_, err = r.admin().Apply(t.Context(), Limits{Lanes: &r.o.Lanes})
	assert.NoError(t, err)
	assert.Equal(t, "AckWait once limits are applied", wait(), r.o.AckWait)
}
