package webhook

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"pinion/runtime/predict"
	"pinion/tests/assert"
)

// brief returns a hook in short: its status, output and logs.
func brief(h hook) string { return fmt.Sprintf("%s %s %q", h.Body.Status, h.Body.Output, h.Body.Logs) }

func equal(t *testing.T, got []hook, want ...string) {
	t.Helper()
	var short []string
	for _, h := range got {
		short = append(short, brief(h))
	}
	if strings.Join(short, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(short, "\n"), strings.Join(want, "\n"))
	}
}

// TestDelivery_Order checks that each event is sent with its state, in order, completed last.
func TestDelivery_Order(t *testing.T) {
	r := newReceiver(t, nil)
	s, _, outcomes := newSender(t, Options{})
	p := attach(t, s, predict.Request{Webhook: r.URL, WebhookEvents: predict.AllEvents, Input: []byte(`{"secret":1}`)})
	p.Begin(time.Now())
	for i := range 20 {
		p.Output(fmt.Appendf(nil, `{"n":%d}`, i))
	}
	p.yielded()
	p.wantReleased(t)
	drain(t, s)
	want := []string{`processing  ""`}
	list := ""
	for i := range 20 {
		list += fmt.Sprintf(`,{"n":%d}`, i)
		want = append(want, fmt.Sprintf(`processing [%s] ""`, list[1:]))
	}
	hooks := r.rest()
	equal(t, hooks, append(want, fmt.Sprintf(`succeeded [%s] ""`, list[1:]))...)
	for _, h := range hooks {
		assert.True(t, h.Body.ID == "p1" && h.Body.Input == nil && h.Method == http.MethodPost,
			"a hook is %s %s, want ID p1, Input nil and Method POST", h.Method, h.Raw)
	}
	if got := outcomes.String(); got != "[completed delivered:1 output delivered:20 start delivered:1]" {
		t.Errorf(`outcomes are %s, want "[completed delivered:1 output delivered:20 start delivered:1]"`, got)
	}
}

// TestDelivery_Returned holds what is sent of a prediction that returns.
func TestDelivery_Returned(t *testing.T) {
	r := newReceiver(t, nil)
	s, _, _ := newSender(t, Options{})
	p := attach(t, s, predict.Request{Webhook: r.URL, WebhookEvents: predict.AllEvents})
	p.Begin(time.Now())
	p.succeed(`"done"`)
	drain(t, s)
	equal(t, r.rest(), `processing  ""`, `processing "done" ""`, `succeeded "done" ""`)
}

// TestDelivery_FallsBack checks that start comes once where a prediction begins again: its first worker died early.
func TestDelivery_FallsBack(t *testing.T) {
	r := newReceiver(t, nil)
	s, _, _ := newSender(t, Options{})
	p := predict.New("p1", &predict.Request{WebhookEvents: predict.AllEvents}, time.Now(), nil, predict.Options{})
	d := &delivery{sender: s, account: s.Account(), prediction: p, target: mustParse(t, r.URL)}
	d.wake = make(chan struct{}, 1)
	for range 2 {
		d.Observe(predict.Record{ID: "p1", Input: []byte(`{"a":1}`), Progress: predict.Progress{Status: predict.Processing}},
			predict.Event{Kind: predict.EventStart})
	}
	d.Observe(predict.Record{ID: "p1", Progress: predict.Progress{Status: predict.Failed}},
		predict.Event{Kind: predict.EventEnd})
	// never comes
	d.Observe(predict.Record{ID: "p1", Progress: predict.Progress{Status: predict.Processing}},
		predict.Event{Kind: predict.EventLog})
	drain(t, s)
	hooks := r.rest()
	equal(t, hooks, `processing  ""`, `failed  ""`)
	assert.True(t, hooks[0].Body.Input == nil, "the input is sent: got %.300q, want nil", hooks[0].Body.Input)
}

func TestDelivery_Filters(t *testing.T) {
	for events, want := range map[predict.Events][]string{
		0:                                  nil,
		predict.OnStart:                    {`processing  ""`},
		predict.OnOutput:                   {`processing [1] "a"`, `processing [1,2] "ab"`},
		predict.OnCompleted:                {`succeeded [1,2] "ab"`},
		predict.OnStart | predict.OnOutput: {`processing  ""`, `processing [1] "a"`, `processing [1,2] "ab"`},
	} {
		r := newReceiver(t, nil)
		s, _, _ := newSender(t, Options{})
		p := attach(t, s, predict.Request{Webhook: r.URL, WebhookEvents: events})
		p.Begin(time.Now())
		p.log("a")
		p.Output([]byte("1"))
		p.log("b")
		p.Metric([]byte(`{"name":"x","value":1,"mode":"replace"}`))
		p.Output([]byte("2"))
		p.yielded()
		p.wantReleased(t)
		drain(t, s)
		equal(t, r.rest(), want...)
	}
}

// TestDelivery_Throttle checks that logs come at most once in the interval, each with the newest state, and that the
// last text is never lost, with completed and without.
func TestDelivery_Throttle(t *testing.T) {
	for _, last := range []predict.Events{0, predict.OnCompleted} {
		r := newReceiver(t, nil)
		s, _, _ := newSender(t, Options{Throttle: time.Minute})
		c := newClock(s, false)
		p := attach(t, s, predict.Request{Webhook: r.URL, WebhookEvents: predict.OnLogs | last})
		p.Begin(time.Now())
		p.log("a")
		equal(t, []hook{r.next(t)}, `processing  "a"`) // the first at once
		for range 3 {
			p.log("b")
		}
		assert.Equal(t, "the second's logs", <-c.rests, time.Minute)
		p.log("c")
		c.advance(time.Minute)
		equal(t, []hook{r.next(t)}, `processing  "abbbc"`)
		p.log("d")
		<-c.rests // it waits again, and the end comes
		p.succeed("1")
		if last == 0 {
			c.advance(time.Minute)
			equal(t, []hook{r.next(t)}, `processing  "abbbcd"`)
		} else {
			equal(t, []hook{r.next(t)}, `succeeded 1 "abbbcd"`)
		}
		p.wantReleased(t)
		drain(t, s)
		equal(t, r.rest())
	}
}

// TestDelivery_LogsWithAnswer checks that text that comes only with the end is sent too.
func TestDelivery_LogsWithAnswer(t *testing.T) {
	r := newReceiver(t, nil)
	s, _, _ := newSender(t, Options{Throttle: -1})
	p := attach(t, s, predict.Request{Webhook: r.URL, WebhookEvents: predict.OnLogs})
	p.Begin(time.Now())
	p.log("a")
	equal(t, []hook{r.next(t)}, `processing  "a"`)
	p.End(predict.Result{Status: predict.Failed, Error: "x", Logs: []byte("b")}, time.Now())
	p.Release()
	p.wantReleased(t)
	equal(t, r.rest(), `failed  "ab"`)
}

// gate is a handler that lets each request pass when the test says so.
func gate(t *testing.T) (handler http.HandlerFunc, entered chan struct{}, open func()) {
	pass := make(chan struct{})
	entered = make(chan struct{}, 1000)
	handler = func(_ http.ResponseWriter, r *http.Request) {
		entered <- struct{}{}
		select {
		case <-pass:
		case <-r.Context().Done():
		case <-t.Context().Done():
		}
	}
	return handler, entered, func() { close(pass) }
}

// TestDelivery_Supersede checks that logs that were not sent give way to any newer state.
func TestDelivery_Supersede(t *testing.T) {
	handler, entered, open := gate(t)
	r := newReceiver(t, handler)
	s, _, outcomes := newSender(t, Options{Throttle: -1})
	p := attach(t, s, predict.Request{Webhook: r.URL, WebhookEvents: predict.AllEvents})
	p.Begin(time.Now())
	<-entered // start is being delivered: all that follows waits
	p.log("a")
	p.log("b")
	p.Output([]byte("1"))
	p.log("c")
	p.Output([]byte("2"))
	p.log("d")
	p.log("e")
	open()
	for _, want := range []string{
		`processing  ""`, `processing [1] "ab"`, `processing [1,2] "abc"`,
		`processing [1,2] "abcde"`,
	} {
		equal(t, []hook{r.next(t)}, want)
	}
	p.yielded()
	drain(t, s)
	equal(t, r.rest(), `succeeded [1,2] "abcde"`)
	if got := outcomes.String(); got != "[completed delivered:1 logs delivered:1 logs dropped:4 output delivered:2 start delivered:1]" {
		t.Errorf("outcomes are %s, want one of start and completed, and of logs one delivered and four dropped", got)
	}
}

// TestDelivery_SupersededForGood checks that logs that gave way to an output do not come after it.
func TestDelivery_SupersededForGood(t *testing.T) {
	handler, entered, open := gate(t)
	r := newReceiver(t, handler)
	s, _, _ := newSender(t, Options{Throttle: -1})
	p := attach(t, s, predict.Request{Webhook: r.URL, WebhookEvents: predict.OnLogs | predict.OnOutput})
	p.log("a")
	<-entered
	p.log("b")
	p.Output([]byte("1"))
	p.yielded()
	open()
	drain(t, s)
	equal(t, r.rest(), `starting  "a"`, `starting [1] "ab"`)
}

// TestDelivery_BoundedQueue checks that outputs beyond MaxPending are merged into the newest.
func TestDelivery_BoundedQueue(t *testing.T) {
	handler, entered, open := gate(t)
	r := newReceiver(t, handler)
	s, _, _ := newSender(t, Options{MaxPending: 3})
	p := attach(t, s, predict.Request{Webhook: r.URL, WebhookEvents: predict.AllEvents})
	p.Begin(time.Now())
	<-entered
	for range 10_000 {
		p.Output([]byte("1"))
	}
	p.yielded()
	open()
	drain(t, s)
	hooks := r.rest()
	if len(hooks) != 5 || brief(hooks[1]) != `processing [1] ""` || brief(hooks[2]) != `processing [1,1] ""` ||
		len(hooks[3].Body.Output) != 20_001 || hooks[4].Body.Status != "succeeded" {
		t.Errorf("got %d hooks, %.1000v, want 5: start, the first outputs one by one, then all 20,001", len(hooks), hooks)
	}
}

// TestDelivery_GoroutineOnlyWhileNeeded checks that a prediction with nothing to deliver costs none.
func TestDelivery_GoroutineOnlyWhileNeeded(t *testing.T) {
	r := newReceiver(t, nil)
	s, _, _ := newSender(t, Options{Throttle: -1})
	p := attach(t, s, predict.Request{Webhook: r.URL, WebhookEvents: predict.AllEvents})
	p.Begin(time.Now())
	r.next(t)
	ctx := t.Context()
	assert.NoError(t, s.wait(ctx, func() int { return s.running }))
	p.log("a")
	equal(t, []hook{r.next(t)}, `processing  "a"`)
	p.succeed("1")
	p.wantReleased(t)
}

// TestDelivery_NoWebhook checks that a prediction without one is left alone.
func TestDelivery_NoWebhook(t *testing.T) {
	s, log, _ := newSender(t, Options{})
	for _, request := range []predict.Request{
		{WebhookEvents: predict.AllEvents},
		{Webhook: "http://127.0.0.1:1/secret"},
		{Webhook: "ftp://127.0.0.1/secret", WebhookEvents: predict.AllEvents},
		{Webhook: "http:///secret", WebhookEvents: predict.AllEvents},
		{Webhook: "http://[::1/secret", WebhookEvents: predict.AllEvents},
	} {
		p := attach(t, s, request)
		p.Begin(time.Now())
		p.succeed("1")
		p.wantReleased(t)
	}
	drain(t, s)
	if strings.Count(log.String(), "not an http or https URL") != 3 || strings.Contains(log.String(), "secret") {
		t.Errorf(`logged: %s, want Count 3 and log without "secret"`, log)
	}
}
