package store_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"pinion/runtime/jobqueue/store"
	"pinion/runtime/jobqueue/store/live"
	"pinion/runtime/jobqueue/store/state"
	"pinion/tests/assert"
)

// direct is a runner whose server has one direct prediction.
type direct struct {
	*runner

	id   string
	gate chan struct{} // it answers when that is closed; nil means at once
}

func (d *direct) ShowDirect(q live.Lookup) json.RawMessage {
	if d.gate != nil {
		<-d.gate
	}
	if q.ID != d.id {
		return nil
	}
	return starting(q.ID)
}

// TestDirect_AllServersAnswerThatItIsAbsent: then no client waits for their silence. A server that is known and does
// not answer may have it.
func TestDirect_AllServersAnswerThatItIsAbsent(t *testing.T) {
	r := newRig(t, nil)
	member := func(name string) *store.Queue {
		o := r.State.Options
		o.Server, o.Host = name, nil // as a member elsewhere: an embedded one has no others
		q := r.member(o)
		q.Live.Connected = time.Now().Add(-live.GraceAfterConnect)
		return q
	}
	asker := member("asker")
	stop := assert.Must(asker.Live.Answer(func(string, live.Notice) {}))(t)
	t.Cleanup(stop)
	known := func(n int) func() bool { return func() bool { return len(asker.Live.Members.Live(time.Now())) == n } }
	ask := func(id string) string {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		got, err := asker.Live.LookupDirect(ctx, live.Lookup{Kind: state.Prediction, ID: id}, time.Hour)
		assert.TrueNow(t, err == nil && ctx.Err() == nil, "ask for %s: got %v, %v, want no error", id, err, ctx.Err())
		return string(got.Object)
	}
	b, c := member("b"), member("c")
	slow := &direct{newRunner(1, succeed), "p1", make(chan struct{})}
	for q, run := range map[*store.Queue]*direct{b: {newRunner(1, succeed), "", nil}, c: slow} {
		before := q.State.NC.NumSubscriptions()
		r.serve(q, run)
		q.Live.PublishStatus(live.ServerStatus{})
		r.eventually("it listens", func() bool { return q.State.NC.NumSubscriptions() >= before+3 && q.State.NC.Flush() == nil })
	}
	r.eventually("both are known", known(2))
	firstAbsent := sync.OnceFunc(func() { close(slow.gate) })
	inboxes := assert.Must(r.State.NC.Subscribe(nats.InboxPrefix+">", func(m *nats.Msg) {
		if m.Header.Get(live.HeaderAbsent) == state.Token("b") {
			firstAbsent()
		}
	}))(t)
	assert.NoError(t, r.State.NC.Flush())
	t.Cleanup(func() { _ = inboxes.Unsubscribe() })
	assert.Equal(t, "the answer", ask("p1"), string(starting("p1")))
	assert.Equal(t, "an unknown one", ask("unknown"), "")
	assert.False(t, asker.Live.CancelDirect(t.Context(), live.Lookup{Kind: state.Prediction, ID: "unknown"}, time.Hour),
		"an unknown one was canceled")
	gone := member("gone")
	gone.Live.PublishStatus(live.ServerStatus{})
	r.eventually("a server is known that does not answer", known(3))
	ended, cancel := context.WithTimeout(t.Context(), time.Hour)
	waits := make(chan struct{})
	go func() {
		defer close(waits)
		_, _ = asker.Live.LookupDirect(ended, live.Lookup{Kind: state.Prediction, ID: "unknown"}, time.Hour)
	}()
	select {
	case <-waits:
		t.Error("got an answer of the others, want a wait for the server that is known")
	case <-time.After(100 * time.Millisecond): // the others have answered within that, as a rule
	}
	cancel()
	<-waits
	gone.Live.PublishStatus(live.ServerStatus{Gone: true})
	r.eventually("it is known to be gone", known(2))
	ask("unknown")
}
