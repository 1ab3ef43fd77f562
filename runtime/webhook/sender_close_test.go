package webhook

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"pinion/runtime/predict"
	"pinion/tests/assert"
)

// TestHasten_Drain waits for completed and ends with its context.
func TestHasten_Drain(t *testing.T) {
	handler, entered, open := gate(t)
	r := newReceiver(t, handler)
	s, _, _ := newSender(t, Options{})
	drain(t, s) // nothing to wait for
	idle := attach(t, s, predict.Request{ID: "idle", Webhook: r.URL, WebhookEvents: completed})
	drain(t, s) // which has not ended
	p := attach(t, s, predict.Request{Webhook: r.URL, WebhookEvents: completed})
	p.succeed("1")
	<-entered
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("the grace is over")
	cancel(reason)
	if err := s.Drain(ctx); !errors.Is(err, reason) || !strings.HasPrefix(err.Error(), "deliver webhooks: ") {
		t.Errorf(`Drain: %v, want error %v and err starting with "deliver webhooks: "`, err, reason)
	}
	var drained sync.WaitGroup
	for range 3 {
		drained.Go(func() { drain(t, s) })
	}
	open()
	drained.Wait()
	p.wantReleased(t)
	equal(t, r.rest(), `succeeded 1 ""`)
	idle.succeed("2")
	drain(t, s)
}

// TestHasten_Close ends what is under way, at once, and lets predictions go, those too that end later.
func TestHasten_Close(t *testing.T) {
	handler, entered, _ := gate(t)
	r := newReceiver(t, handler)
	s, log, outcomes := newSender(t, Options{})
	later := attach(t, s, predict.Request{ID: "later", Webhook: r.URL, WebhookEvents: predict.AllEvents})
	hanging := attach(t, s, predict.Request{ID: "hanging", Webhook: r.URL + "/?secret", WebhookEvents: predict.AllEvents})
	hanging.Begin(time.Now())
	<-entered
	hanging.Output([]byte("1"))
	hanging.yielded()
	refused := attach(t, s, predict.Request{ID: "refused", Webhook: "http://127.0.0.1:1/", WebhookEvents: completed})
	refused.succeed("1") // which waits for its next try, sooner or later
	s.Close()
	hanging.wantReleased(t)
	refused.wantReleased(t)
	later.Begin(time.Now())
	later.succeed("1")
	later.wantReleased(t)
	drain(t, s)
	if got := outcomes.String(); !strings.Contains(got, "start failed:1") || !strings.Contains(got, "completed ") ||
		strings.Contains(got, "delivered") || strings.Contains(log.String(), "secret") {
		t.Errorf("outcomes %s, logged %s, want both failed, without the secret", got, log)
	}
	s.Close()
}

// TestHasten_WaitingEventIsTriedOnceMore at once, and then given up.
func TestHasten_WaitingEventIsTriedOnceMore(t *testing.T) {
	r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "60")
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	s, log, outcomes := newSender(t, Options{})
	waiting := newClock(s, false)
	attach(t, s, predict.Request{Webhook: r.URL, WebhookEvents: completed}).succeed("1")
	<-waiting.rests
	s.Hasten()
	drain(t, s)
	attach(t, s, predict.Request{ID: "late", Webhook: r.URL, WebhookEvents: completed}).succeed("2")
	drain(t, s)
	equal(t, r.rest(), `succeeded 1 ""`, `succeeded 1 ""`, `succeeded 2 ""`)
	assert.Equal(t, "outcomes", outcomes.String(), "[completed failed:2]")
	assert.Contains(t, "the log", log.String(), "tries=2", "tries=1")
}

// TestHasten_CompletedGoesBeforeWhatHangs cuts an event off whose receiver does not answer, and drops the outputs that
// wait.
func TestHasten_CompletedGoesBeforeWhatHangs(t *testing.T) {
	handler, entered, _ := gate(t)
	first := make(chan struct{}, 1)
	first <- struct{}{}
	r := newReceiver(t, func(w http.ResponseWriter, q *http.Request) {
		select {
		case <-first:
			handler(w, q)
		default:
		}
	})
	s, _, outcomes := newSender(t, Options{})
	p := attach(t, s, predict.Request{Webhook: r.URL, WebhookEvents: predict.AllEvents})
	p.Begin(time.Now())
	<-entered
	p.Output([]byte("1"))
	p.Output([]byte("2"))
	p.yielded()
	s.Hasten()
	drain(t, s)
	equal(t, r.rest(), `processing  ""`, `succeeded [1,2] ""`)
	assert.Equal(t, "outcomes", outcomes.String(), "[completed delivered:1 output dropped:2 start failed:1]")
}

// TestClose_LogsEachCompletedThatIsGivenUp, also one whose turn has not come.
func TestClose_LogsEachCompletedThatIsGivenUp(t *testing.T) {
	handler, entered, _ := gate(t)
	r := newReceiver(t, handler)
	s, log, _ := newSender(t, Options{})
	p := attach(t, s, predict.Request{Webhook: r.URL, WebhookEvents: predict.AllEvents})
	p.Begin(time.Now())
	<-entered
	p.succeed("1")
	s.Close()
	if got := log.String(); !strings.Contains(got, "event=completed") || !strings.Contains(got, ErrClosed.Error()) {
		t.Errorf("got log %s, want the completed event and %q", got, ErrClosed)
	}
}
