package webhook

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pinion/runtime/egress"
	"pinion/runtime/memory"
	"pinion/runtime/predict"
	"pinion/tests/assert"
)

// TestSender_HangingReceiver checks that a receiver that does not answer delays no other, not even at the same host.
func TestSender_HangingReceiver(t *testing.T) {
	handler, entered, open := gate(t)
	hanging := newReceiver(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hang" {
			handler(w, r)
		}
	})
	s, _, outcomes := newSender(t, Options{})
	var deliveries []*testDelivery
	for i := range 300 {
		p := attach(t, s, predict.Request{
			ID: fmt.Sprint("h", i), Webhook: hanging.URL + "/hang",
			WebhookEvents: predict.OnStart,
		})
		p.Begin(time.Now())
		p.succeed("1")
		deliveries = append(deliveries, p)
	}
	for range deliveries {
		<-entered
	}
	other := newReceiver(t, nil)
	for _, webhook := range []string{other.URL, hanging.URL + "/"} {
		p := attach(t, s, predict.Request{Webhook: webhook, WebhookEvents: completed})
		p.succeed("1")
		p.wantReleased(t)
	}
	assert.Equal(t, "outcomes", outcomes.String(), "[completed delivered:2]")
	open()
	for _, p := range deliveries {
		p.wantReleased(t)
	}
	assert.Equal(t, "outcomes", outcomes.String(), "[completed delivered:2 start delivered:300]")
}

// TestSender_AfterHang checks that the outputs that wait for a hanging receiver are merged, so that they do not hold up
// what follows.
func TestSender_AfterHang(t *testing.T) {
	handler, entered, _ := gate(t)
	var tries atomic.Int32
	r := newReceiver(t, func(w http.ResponseWriter, q *http.Request) {
		if tries.Add(1) == 1 {
			handler(w, q)
		}
	})
	s, log, outcomes := newSender(t, Options{Timeout: time.Second})
	p := attach(t, s, predict.Request{Webhook: r.URL, WebhookEvents: predict.AllEvents})
	p.Begin(time.Now())
	<-entered
	for range 3 {
		p.Output([]byte("1"))
	}
	for _, want := range []string{`processing  ""`, `processing [1,1,1] ""`} {
		equal(t, []hook{r.next(t)}, want)
	}
	p.yielded()
	drain(t, s)
	equal(t, r.rest(), `succeeded [1,1,1] ""`)
	if got := outcomes.String(); got != "[completed delivered:1 output delivered:1 output dropped:2 start failed:1]" ||
		!strings.Contains(log.String(), ErrTimeout.Error()) {
		t.Errorf("outcomes %s, logged %s, want start failed by a time-out, and one output dropped", got, log)
	}
}

// TestSender_SlowReceiverAfterEnd checks that completed supersedes what waits once Timeout has passed since the end.
func TestSender_SlowReceiverAfterEnd(t *testing.T) {
	for _, last := range []predict.Events{0, completed} {
		pass := make(chan struct{})
		r := newReceiver(t, func(http.ResponseWriter, *http.Request) { <-pass })
		s, _, _ := newSender(t, Options{Timeout: time.Minute})
		c := newClock(s, true)
		p := attach(t, s, predict.Request{Webhook: r.URL, WebhookEvents: predict.OnOutput | last})
		p.Begin(time.Now())
		for range 10 {
			p.Output([]byte("1"))
		}
		p.yielded()
		for range 2 {
			r.next(t)
			pass <- struct{}{}
		}
		r.next(t)
		c.advance(time.Hour)
		close(pass)
		drain(t, s)
		if last == 0 {
			equal(t, r.rest(), `processing [1,1,1,1,1,1,1,1,1,1] ""`)
		} else {
			equal(t, r.rest(), `succeeded [1,1,1,1,1,1,1,1,1,1] ""`)
		}
	}
}

// TestSender_RetryBudget checks that no more predictions than allowed wait for another try, in number and in bytes.
func TestSender_RetryBudget(t *testing.T) {
	s, _, _ := newSender(t, Options{MaxRetries: 3, MaxRetryBytes: 100})
	assert.True(t, s.reserveRetry(1000), "a lone record is too large")
	assert.False(t, s.reserveRetry(1), "there is room in bytes")
	s.unreserveRetry(1000)
	for i := range 5 {
		assert.Equal(t, fmt.Sprintf("the record number %d has room", i), s.reserveRetry(10), i < 3)
	}
	for range 3 {
		s.unreserveRetry(10)
	}
	r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	s, _, outcomes := newSender(t, Options{MaxRetries: 1, Retries: 2})
	newClock(s, true)
	assert.TrueNow(t, s.reserveRetry(1), "no room")
	end(t, s, r.URL)
	if n := len(r.rest()); n != 1 || outcomes.String() != "[completed failed:1]" {
		t.Errorf(`%d tries, outcomes %s, want n 1 and outcomes "[completed failed:1]"`, n, outcomes)
	}
	s.unreserveRetry(1)
	end(t, s, r.URL)
	assert.Equal(t, "tries with room", len(r.rest()), 3)
	assert.Equal(t, "retries", s.retries, 0)
	assert.Equal(t, "retry bytes", s.retryBytes, 0)
}

// TestSender_Many runs predictions against receivers that fail half of the time: each ends with one completed that was
// taken in.
func TestSender_Many(t *testing.T) {
	var n atomic.Int32
	r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
		if n.Add(1)%2 == 0 {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		w.Header().Set("Taken", "1")
	})
	s, _, outcomes := newSender(t, Options{Backoff: time.Millisecond, Throttle: time.Millisecond})
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			p := attach(t, s, predict.Request{ID: fmt.Sprint(i), Webhook: r.URL, WebhookEvents: predict.AllEvents})
			p.Begin(time.Now())
			for range 5 {
				p.log("x")
				p.Output([]byte("1"))
			}
			p.yielded()
			p.wantReleased(t)
		})
	}
	wg.Wait()
	drain(t, s)
	if !strings.Contains(outcomes.String(), "completed delivered:100 ") ||
		strings.Contains(outcomes.String(), "completed failed") {
		t.Errorf(`outcomes %s, want it with "completed delivered:100 " and without "completed failed"`, outcomes)
	}
	ended := map[string]bool{}
	for _, h := range r.rest() {
		assert.False(t, ended[h.Body.ID] && h.Body.Status != "succeeded",
			"%s got %s after its end, want succeeded", h.Body.ID, h.Body.Status)
		ended[h.Body.ID] = ended[h.Body.ID] || h.Body.Status == "succeeded"
	}
	assert.Equal(t, "number of ended", len(ended), 100)
}

// TestSender_DenyPrivate: a receiver on this machine gets nothing under any name, nothing is tried again, and the log
// names no address.
func TestSender_DenyPrivate(t *testing.T) {
	r := newReceiver(t, nil)
	t.Setenv("HTTP_PROXY", r.URL) // must not be asked
	for _, target := range []string{r.URL, strings.Replace(r.URL, "127.0.0.1", "localhost", 1)} {
		s, log, outcomes := newSender(t, Options{DenyPrivate: true})
		end(t, s, target)
		assert.Equal(t, target+" requests", len(r.rest()), 0)
		if outcomes.String() != "[completed failed:1]" || !strings.Contains(log.String(), egress.ErrPrivate.Error()) ||
			strings.Count(log.String(), "127.0.0.1") != strings.Count(target, "127.0.0.1") {
			t.Errorf("%s: outcomes %s, want one failure, logged without the address\n%s", target, outcomes, log)
		}
	}
}

// TestSender_WhatWaitsIsBounded checks that outputs that wait are charged, with the memory that each state keeps, that
// they are merged where there is no room for them, and that of ended predictions beyond the bound nothing more is
// delivered: their memory is free.
func TestSender_WhatWaitsIsBounded(t *testing.T) {
	handler, entered, open := gate(t)
	r := newReceiver(t, handler)
	b := memory.New(16 << 20)
	s, log, outcomes := newSender(t, Options{Memory: b, MaxPendingBytes: 3 << 20})
	item := bytes.Repeat([]byte("1"), 100_000)
	var deliveries []*testDelivery
	for range 2 {
		p := &testDelivery{predict.New("p1", &predict.Request{ID: "p1", Webhook: r.URL, WebhookEvents: predict.AllEvents},
			time.Now(), nil,
			predict.Options{Memory: b}), make(chan struct{})}
		p.OnRelease(func() { close(p.released) })
		s.Account().Attach(p.Prediction)
		assert.TrueNow(t, p.Reserve(), "no room")
		p.Begin(time.Now())
		<-entered // start is being delivered: all that follows waits
		for range 20 {
			p.Output(item)
		}
		deliveries = append(deliveries, p)
	}
	used := b.Stats().Used
	assert.True(t, used >= 2*2_000_000 && used <= 16<<20, "%d bytes are charged, want %d to %d", used, 2*2_000_000, 16<<20)
	if waiting := s.outputs.Load(); waiting == 0 || waiting > 3<<20/2 {
		t.Errorf("outputs that wait take %d bytes, want at most half of MaxPendingBytes", waiting)
	}
	deliveries[0].Charge(2 << 20)
	deliveries[1].Charge(2 << 20)
	deliveries[0].yielded()
	deliveries[1].yielded() // too much beside the other
	open()
	for _, p := range deliveries {
		p.wantReleased(t)
	}
	drain(t, s)
	assert.Equal(t, fmt.Sprintf("notices in the log %s", log), strings.Count(log.String(), "memory budget is used up"), 1)
	got := outcomes.String()
	assert.True(t, strings.Contains(got, "completed delivered:1") && strings.Contains(got, "completed dropped:1"),
		`outcomes are %s, want it with "completed delivered:1" and with "completed dropped:1"`, got)
	if used := b.Stats().Used; used != 0 || s.reserved != 0 || s.outputs.Load() != 0 {
		t.Errorf("%d bytes stay, %d are reserved, %d are of outputs, want 0, 0 and 0", used, s.reserved, s.outputs.Load())
	}
}

// TestSender_State: what is under way, what is tried again and why are known while a receiver refuses.
func TestSender_State(t *testing.T) {
	var refuses atomic.Bool
	refuses.Store(true)
	r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
		if refuses.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	s, _, _ := newSender(t, Options{Backoff: time.Millisecond, MaxBackoff: time.Millisecond, Retries: 1_000_000})
	account := s.Account()
	got := account.State()
	assert.True(t, got == (State{}), "at first the state is %+v, want %+v", got, State{})
	p := attachTo(account, predict.Request{Webhook: r.URL, WebhookEvents: completed})
	p.succeed("1")
	assert.Eventually(t, "it is tried again", func() bool {
		got := account.State()
		return got.Pending == 1 && got.Retrying == 1 && got.Retried != nil && got.Lost == nil
	})
	assert.Equal(t, "*account.State().Retried",
		*account.State().Retried, Failure{r.URL, "the receiver answered 503 Service Unavailable"})
	refuses.Store(false)
	assert.Eventually(t, "it is delivered", func() bool {
		got := account.State()
		return got.Pending == 0 && got.Retrying == 0 && got.Lost == nil
	})
}
