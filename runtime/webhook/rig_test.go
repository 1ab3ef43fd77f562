package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pinion/runtime/predict"
	"pinion/tests/assert"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// hook is one request that a receiver got.
type hook struct {
	Method string
	Path   string
	Header http.Header
	Raw    string
	Body   struct {
		ID     string
		Status string
		Output json.RawMessage
		Logs   string
		Error  string
		Input  json.RawMessage
	}
}

// receiver is a real server that keeps what it gets and answers as its handler says (200 without one).
type receiver struct {
	*httptest.Server
	hooks chan hook
}

func newReceiver(t *testing.T, answer http.HandlerFunc) *receiver {
	t.Helper()
	r := &receiver{hooks: make(chan hook, 10_000)}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		raw, err := io.ReadAll(q.Body)
		if err != nil {
			return // it was cut off; not an event
		}
		h := hook{Method: q.Method, Path: q.URL.Path, Header: q.Header, Raw: string(raw)}
		if err := json.Unmarshal(raw, &h.Body); err != nil && q.Method == http.MethodPost {
			t.Errorf("the body is not JSON: %v: %.200q: got %q, want anything but POST", err, raw, q.Method)
		}
		r.hooks <- h
		if answer != nil {
			answer(w, q)
		}
	}))
	t.Cleanup(r.Close)
	return r
}

// next returns the next request.
func (r *receiver) next(t *testing.T) hook {
	t.Helper()
	select {
	case h := <-r.hooks:
		return h
	case <-t.Context().Done():
	case <-time.After(20 * time.Second):
	}
	t.Fatal("got no request, want one")
	return hook{}
}

// rest returns every request that came and was not looked at. Nothing may be under way.
func (r *receiver) rest() (hooks []hook) {
	for {
		select {
		case h := <-r.hooks:
			hooks = append(hooks, h)
		default:
			return hooks
		}
	}
}

// outcomes counts the calls of OnDelivery.
type outcomes struct {
	mu sync.Mutex
	by map[string]int
}

func (o *outcomes) add(event, outcome string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.by == nil {
		o.by = map[string]int{}
	}
	o.by[event+" "+outcome]++
}

func (o *outcomes) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.TrimPrefix(fmt.Sprint(o.by), "map")
}

// newSender makes a sender that the test's end closes. log gets all that it logs.
func newSender(t *testing.T, o Options) (s *Sender, log *journal, counts *outcomes) {
	t.Helper()
	log, counts = &journal{}, &outcomes{}
	o.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	o.OnDelivery = counts.add
	s = New(o)
	t.Cleanup(s.Close)
	return s, log, counts
}

// journal is a log that can be read while it is written.
type journal struct {
	mu   sync.Mutex
	text strings.Builder
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(b)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// testDelivery is a prediction with a webhook, and whether what it held was given back.
type testDelivery struct {
	*predict.Prediction
	released chan struct{}
}

func attach(t *testing.T, s *Sender, request predict.Request) *testDelivery {
	t.Helper()
	return attachTo(s.Account(), request)
}

func attachTo(a *Account, request predict.Request) *testDelivery {
	if request.ID == "" {
		request.ID = "p1"
	}
	p := &testDelivery{predict.New(request.ID, &request, time.Now(), nil, predict.Options{}), make(chan struct{})}
	p.OnRelease(func() { close(p.released) })
	a.Attach(p.Prediction)
	return p
}

func (p *testDelivery) succeed(output string) {
	p.End(predict.Result{Status: predict.Succeeded, Output: []byte(output)}, time.Now())
	p.Release()
}

func (p *testDelivery) yielded() {
	p.End(predict.Result{Status: predict.Succeeded, Yielded: true}, time.Now())
	p.Release()
}

func (p *testDelivery) log(text string) { p.Log("stdout", []byte(text)) }

// drain waits until everything is delivered.
func drain(t *testing.T, s *Sender) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	assert.NoError(t, s.Drain(ctx))
}

// wantReleased waits until p has released what it held.
func (p *testDelivery) wantReleased(t *testing.T) {
	t.Helper()
	select {
	case <-p.released:
	case <-time.After(20 * time.Second):
		t.Fatal("the prediction is still held, want it released")
	}
}

// clock is time in the hands of a test. A sleeper wakes when the time has come, at its token, or at once where
// instant is set.
type clock struct {
	instant bool

	mu    sync.Mutex
	at    time.Time
	moved chan struct{}
	slept []time.Duration
	rests chan time.Duration // gets each sleep as it begins
}

func newClock(s *Sender, instant bool) *clock {
	c := &clock{
		instant: instant, at: time.Unix(1_000_000, 0), moved: make(chan struct{}),
		rests: make(chan time.Duration, 1000),
	}
	s.now, s.sleep = c.now, c.sleep
	s.backoff.Random = func() float64 { return 0 }
	return c
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	c.at = c.at.Add(d)
	close(c.moved)
	c.moved = make(chan struct{})
	c.mu.Unlock()
}

func (c *clock) sleep(ctx context.Context, d time.Duration, wake <-chan struct{}) {
	c.mu.Lock()
	until := c.at.Add(d)
	c.slept = append(c.slept, d)
	if c.instant {
		c.at = until
	}
	c.mu.Unlock()
	c.rests <- d
	for {
		c.mu.Lock()
		now, moved := c.at, c.moved
		c.mu.Unlock()
		if !now.Before(until) {
			return
		}
		select {
		case <-moved:
		case <-wake:
			return
		case <-ctx.Done():
			return
		}
	}
}
