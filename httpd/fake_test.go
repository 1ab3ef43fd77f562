package httpd

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"pinion/httpd/place"
	"pinion/runtime/health"
	"pinion/runtime/predict"
	"pinion/tests/assert"
)

// testTimeout is how long a test waits. It only bounds a failing test.
const testTimeout = 60 * time.Second

// epoch is the time of all events in golden answers.
var epoch = time.Date(2026, 11, 21, 9, 30, 0, 123456000, time.UTC)

// serving is what tests give a server: a model, and how it is.
type serving interface {
	place.Service
	place.Prober
	Create(req predict.Request) (*predict.Prediction, error)
}

// always is the route to the only model.
type always struct{ serving }

func (r always) Model() place.Service { return r.serving }

func (r always) Holder(predict.Kind, string) place.Service { return r.serving }

func (r always) Assign(req predict.Request) (*predict.Prediction, error) { return r.Create(req) }

// fake is a Service without a model. Its predictions end at once as result says, or, with hold, when
// finish or a cancel ends them.
type fake struct {
	result   predict.Result
	hold     bool
	refusal  error // of Assign
	runErr   error // of Run
	panics   string
	health   health.Document
	example  *health.ExampleRun
	schema   []byte
	training bool
	plain    bool  // the model does not stream
	notReady error // of Ready
	defunct  error
	history  int                         // predict.Options.History
	queued   func()                      // called before each run
	runs     func(p *predict.Prediction) // called at the start of each run

	registry  *predict.Registry
	started   chan *predict.Prediction // every run on hold
	canceled  chan string              // the id of every cancel that reached the runner
	released  chan string              // the id of every release
	shutdowns chan struct{}

	attachError error // of every file that comes
	mu          sync.Mutex
	attached    []*fakeAttachments
	onHold      map[*predict.Prediction]chan predict.Result
	last        predict.Request
}

func newFake() *fake {
	return &fake{
		result: predict.Result{
			Status: predict.Succeeded, Output: []byte(`"hello"`),
			Metrics: []byte(`{"predict_time":0.25}`),
		},
		registry:  predict.NewRegistry(predict.Retention{}),
		started:   make(chan *predict.Prediction, 4096),
		canceled:  make(chan string, 4096),
		released:  make(chan string, 4096),
		shutdowns: make(chan struct{}, 16),
		onHold:    make(map[*predict.Prediction]chan predict.Result),
	}
}

func (f *fake) Create(req predict.Request) (*predict.Prediction, error) {
	f.mu.Lock()
	f.last = req
	f.mu.Unlock()
	if f.panics != "" {
		panic(f.panics)
	}
	if f.refusal != nil {
		return nil, f.refusal
	}
	switch {
	case req.Mode == predict.Stream && f.plain:
		return nil, predict.ErrNotStreaming
	case req.Kind == predict.KindTraining && !f.training:
		return nil, predict.ErrNoTraining
	}
	id := req.ID
	if id == "" {
		id = "made-by-the-server"
	}
	p := predict.New(id, &req, epoch, f.runner(), predict.Options{History: f.history})
	if err := f.registry.Add(p); err != nil {
		return nil, err
	}
	if f.hold {
		f.mu.Lock()
		f.onHold[p] = make(chan predict.Result, 2)
		f.mu.Unlock()
	}
	if req.Attachments != nil {
		p.OnRelease(req.Attachments.Close)
	}
	p.OnRelease(func() {
		select {
		case f.released <- id:
		default: // more are not counted
		}
	})
	return p, nil
}

func (f *fake) Run(p *predict.Prediction) error {
	defer f.registry.Finish(p, 0, time.Now())
	if f.queued != nil {
		f.queued()
	}
	if f.runErr != nil {
		p.End(predict.Result{Status: predict.Failed, Error: f.runErr.Error()}, epoch.Add(2*time.Second))
		return f.runErr
	}
	p.Begin(epoch.Add(time.Second))
	result := f.result
	if f.runs != nil {
		f.runs(p)
	}
	if f.hold {
		f.mu.Lock()
		ended := f.onHold[p]
		f.mu.Unlock()
		f.started <- p
		result = <-ended
	}
	p.End(result, epoch.Add(2*time.Second))
	return nil
}

// end is how a prediction on hold ends.
func (f *fake) end(p *predict.Prediction, r predict.Result) {
	f.mu.Lock()
	ended := f.onHold[p]
	f.mu.Unlock()
	ended <- r
}

func (f *fake) finish(p *predict.Prediction) { f.end(p, f.result) }

// runner returns the service as a Runner: its Cancel has another argument than that of a Service.
func (f *fake) runner() predict.Runner { return fakeRunner{f} }

type fakeRunner struct{ f *fake }

func (r fakeRunner) Submit(*predict.Prediction) {}

func (r fakeRunner) Run(p *predict.Prediction) error { return r.f.Run(p) }
func (r fakeRunner) Cancel(p *predict.Prediction) {
	r.f.canceled <- p.ID()
	if r.f.hold {
		r.f.end(p, predict.Result{Status: predict.Canceled})
	}
}

func (f *fake) Cancel(kind predict.Kind, id string) bool {
	p := f.registry.Get(kind, id)
	if p == nil {
		return false
	}
	p.Cancel()
	return true
}

func (f *fake) Find(kind predict.Kind, id string) *predict.Prediction {
	return f.registry.Get(kind, id)
}

func (f *fake) Result(kind predict.Kind, id string) (*predict.Prediction, predict.Record, bool) {
	p := f.registry.Find(kind, id)
	if p == nil || !p.TryHold() {
		return nil, predict.Record{}, false
	}
	rec := p.Record()
	rec.Input = p.Input()
	return p, rec, true
}

func (f *fake) Ready() error                           { return f.notReady }
func (f *fake) Defunct() error                         { return f.defunct }
func (f *fake) Health(context.Context) health.Document { return f.health }

func (f *fake) RunExample(context.Context) *health.ExampleRun { return f.example }
func (f *fake) LoadOpenAPI() ([]byte, bool)                   { return f.OpenAPI() }
func (f *fake) OpenAPI() ([]byte, bool)                       { return f.schema, f.schema != nil }
func (f *fake) HasTraining() bool                             { return f.training }

// shutdown is what Options.Shutdown calls.
func (f *fake) shutdown() { f.shutdowns <- struct{}{} }

func (f *fake) request() predict.Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last
}

// wait takes one value from c.
func wait[T any](t testing.TB, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(testTimeout):
		t.Fatalf("got nothing within %s, want %s", testTimeout, what)
		panic("unreachable")
	}
}

// site is a server under test.
type site struct {
	*Server
	addr   string
	served chan error // what Serve returned
}

// serve starts a server on a loopback port and shuts it down with the test.
func serve(t testing.TB, svc serving, o Options) *site {
	t.Helper()
	ln := assert.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	return serveOn(t, svc, o, ln)
}

func serveOn(t testing.TB, svc serving, o Options, ln net.Listener) *site {
	s := &site{Server: New(always{svc}, o), addr: ln.Addr().String(), served: make(chan error, 1)}
	go func() { s.served <- s.Serve(ln) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
		defer cancel()
		err := s.Shutdown(ctx)
		assert.True(t, err == nil, "shutdown: got %v, want no error", err)
	})
	return s
}

// client is one raw connection.
type client struct {
	t testing.TB
	net.Conn
	br *bufio.Reader
}

func (s *site) dial(t testing.TB) *client {
	t.Helper()
	nc := assert.Must(net.Dial("tcp", s.addr))(t)
	t.Cleanup(func() { nc.Close() })
	nc.SetDeadline(time.Now().Add(testTimeout))
	return &client{t: t, Conn: nc, br: bufio.NewReader(nc)}
}

func (c *client) send(raw string) {
	c.t.Helper()
	_, err := io.WriteString(c.Conn, raw)
	assert.TrueNow(c.t, err == nil, "send: got %v, want no error", err)
}

// post sends a create request.
func (c *client) post(body string) {
	c.t.Helper()
	c.send(postRequest(body))
}

func postRequest(body string) string {
	var b strings.Builder
	r, _ := http.NewRequest("POST", "http://test/predictions", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "")
	r.Write(&b)
	return b.String()
}

// answer reads one answer, whole.
func (c *client) answer() (*http.Response, string) {
	c.t.Helper()
	return c.answerTo(false)
}

// answerTo reads one answer, which to a HEAD has no body.
func (c *client) answerTo(head bool) (*http.Response, string) {
	c.t.Helper()
	request := &http.Request{Method: "GET"}
	if head {
		request.Method = "HEAD"
	}
	resp, err := http.ReadResponse(c.br, request)
	assert.NoError(c.t, err, "read an answer")
	body, err := io.ReadAll(resp.Body)
	assert.NoError(c.t, err, "read an answer's body")
	return resp, string(body)
}

// want reads one answer and compares its status.
func (c *client) want(status int) (*http.Response, string) {
	c.t.Helper()
	resp, body := c.answer()
	assert.TrueNow(c.t, resp.StatusCode == status, "status %d, want %d; body %s", resp.StatusCode, status, body)
	return resp, body
}

// newTee reads c and keeps in raw all that it read.
func newTee(c *client, raw io.Writer) *bufio.Reader { return bufio.NewReader(io.TeeReader(c.br, raw)) }

// ended checks that the server closed the connection, by a FIN or a reset.
func (c *client) ended() {
	c.t.Helper()
	b, err := c.br.ReadByte()
	assert.TrueNow(c.t, err != nil, "the connection is open and says %q", b)
	ne, ok := errors.AsType[net.Error](err)
	assert.TrueNow(c.t, !ok || !ne.Timeout(), "the server did not close the connection")
}
