package webhook

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pinion/runtime/egress"
	"pinion/runtime/predict"
	"pinion/runtime/trace"
	"pinion/tests/assert"
)

func mustParse(t *testing.T, raw string) *url.URL {
	t.Helper()
	return assert.Must(url.Parse(raw))(t)
}

const completed = predict.OnCompleted

// end delivers only the completed event of a prediction and waits for it.
func end(t *testing.T, s *Sender, webhook string) {
	t.Helper()
	p := attach(t, s, predict.Request{Webhook: webhook, WebhookEvents: completed})
	p.succeed("1")
	p.wantReleased(t)
	drain(t, s)
}

func TestPost_Headers(t *testing.T) {
	r := newReceiver(t, nil)
	s, _, _ := newSender(t, Options{AuthToken: " token\n", UserAgent: "pinion/9"})
	p := attach(t, s, predict.Request{
		Webhook: r.URL + "/a%2Fb?q=1", WebhookEvents: completed,
		Propagation: trace.Propagation{TraceParent: "00-1-2-01", TraceState: "a=b\x01"},
	})
	p.succeed("1")
	drain(t, s)
	h := r.next(t)
	for name, want := range map[string]string{
		"Authorization": "Bearer token", "User-Agent": "pinion/9", "Content-Type": "application/json",
		"Traceparent": "00-1-2-01",
		"Tracestate":  "", "Accept-Encoding": "",
	} {
		assert.Equal(t, name, h.Header.Get(name), want)
	}
	// Without a token, the URL's own credentials.
	s, _, _ = newSender(t, Options{})
	end(t, s, strings.Replace(r.URL, "://", "://user:pass@", 1))
	if h := r.next(t); h.Header.Get("Authorization") != "Basic dXNlcjpwYXNz" || h.Header.Get("User-Agent") != "pinion" {
		t.Errorf(`%v, want Authorization "Basic dXNlcjpwYXNz" and User-Agent pinion`, h.Header)
	}
}

// TestPost_Retries checks that completed is retried as the contract says, and what the waits are.
func TestPost_Retries(t *testing.T) {
	var tries atomic.Int32
	statuses := []int{429, 500, 502, 503, 504, 429, 500, 502, 503, 504, 429, 500, 200}
	r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(statuses[tries.Add(1)-1]) })
	s, log, outcomes := newSender(t, Options{})
	c := newClock(s, true)
	end(t, s, r.URL)
	hooks := r.rest()
	assert.Equal(t, "tries", len(hooks), 13)
	for _, h := range hooks {
		assert.Equal(t, "a try", brief(h), `succeeded 1 ""`)
	}
	want := "[100ms 200ms 400ms 800ms 1.6s 3.2s 6.4s 12.8s 25.6s 51.2s 1m42.4s 2m0s]"
	assert.Equal(t, "the waits", fmt.Sprint(c.slept), want)
	assert.True(t, outcomes.String() == "[completed delivered:1]" && !strings.Contains(log.String(), "level=ERROR"),
		`outcomes %s, log %s, want outcomes "[completed delivered:1]" and log without "level=ERROR"`, outcomes, log)
}

func TestPost_GivesUp(t *testing.T) {
	for _, test := range []struct {
		status, tries int
	}{{500, 4}, {429, 4}, {400, 1}, {401, 1}, {404, 1}, {410, 1}, {501, 1}, {505, 1}} {
		r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(test.status) })
		s, log, outcomes := newSender(t, Options{Retries: 3})
		newClock(s, true)
		end(t, s, strings.Replace(r.URL, "://", "://user:secret@", 1)+"/secret?secret=1")
		assert.Equal(t, fmt.Sprintf("%d: tries", test.status), len(r.rest()), test.tries)
		text := log.String()
		if !strings.Contains(text, "level=ERROR") ||
			!strings.Contains(text, fmt.Sprintf("the receiver answered %d", test.status)) ||
			!strings.Contains(text, "receiver="+r.URL+" ") || strings.Contains(text, "secret") ||
			outcomes.String() != "[completed failed:1]" {
			t.Errorf("%d: outcomes %s, logged %s, want one failure, logged with its receiver and without the secret",
				test.status, outcomes, text)
		}
	}
}

// TestPost_OthersAreTriedOnce checks that only completed is retried, and that a receiver that fails is complained of
// once.
func TestPost_OthersAreTriedOnce(t *testing.T) {
	var tries atomic.Int32
	r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
		if tries.Add(1) <= 4 {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	s, log, _ := newSender(t, Options{Throttle: -1})
	newClock(s, true)
	p := attach(t, s, predict.Request{Webhook: r.URL, WebhookEvents: predict.AllEvents})
	p.Begin(time.Now())
	p.Output([]byte("1"))
	p.Output([]byte("2"))
	p.yielded()
	drain(t, s)
	equal(t, r.rest(), `processing  ""`, `processing [1] ""`, `processing [1,2] ""`, `succeeded [1,2] ""`,
		`succeeded [1,2] ""`)
	assert.True(t, strings.Count(log.String(), "level=WARN") == 1 && !strings.Contains(log.String(), "level=ERROR"),
		`logged: %s, want Count 1 and log without "level=ERROR"`, log)
}

func TestPost_RetryAfter(t *testing.T) {
	answers := []string{"7", "100000", ""}
	var tries atomic.Int32
	r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", answers[tries.Add(1)-1])
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	s, _, _ := newSender(t, Options{Retries: 2, MaxBackoff: time.Minute})
	c := newClock(s, true)
	end(t, s, r.URL)
	assert.Equal(t, "the waits", fmt.Sprint(c.slept), "[7s 1m0s]")
}

// TestPost_ConnectionErrors are retried: no receiver at first, and connections closed without an answer.
func TestPost_ConnectionErrors(t *testing.T) {
	listener := assert.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	address := listener.Addr().String()
	assert.NoError(t, listener.Close())
	s, log, outcomes := newSender(t, Options{Retries: 2})
	newClock(s, true)
	end(t, s, "http://"+address+"/?secret")
	if outcomes.String() != "[completed failed:1]" || !strings.Contains(log.String(), "tries=3") ||
		!strings.Contains(log.String(), "connection refused") || strings.Contains(log.String(), "secret") {
		t.Errorf("outcomes %s, logged %s, want one failure after 3 tries, without the secret", outcomes, log)
	}

	var tries atomic.Int32
	r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
		if tries.Add(1) < 3 {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				panic(err)
			}
			_ = conn.Close()
		}
	})
	s, _, outcomes = newSender(t, Options{Retries: 2})
	newClock(s, true)
	end(t, s, r.URL)
	if n := len(r.rest()); outcomes.String() != "[completed delivered:1]" || n != 3 {
		t.Errorf(`outcomes %s, %d tries, want outcomes "[completed delivered:1]" and n 3`, outcomes, n)
	}
}

// TestPost_Redirects holds which redirects are followed, that the body goes along, and the token only to its host.
func TestPost_Redirects(t *testing.T) {
	elsewhere := newReceiver(t, nil)
	other := strings.Replace(elsewhere.URL, "127.0.0.1", "localhost", 1)
	for _, test := range []struct {
		status   int
		to       string
		here     int // requests at the first receiver
		there    int // and at the other
		auth     string
		outcome  string
		complain string
	}{
		{301, "/next", 2, 0, "Bearer t", "delivered", ""},
		{302, "/next", 2, 0, "Bearer t", "delivered", ""},
		{307, "/next", 2, 0, "Bearer t", "delivered", ""},
		{308, other, 1, 1, "", "delivered", ""},
		{307, strings.Replace(other, "://", "://u:p@", 1), 1, 1, "Basic dTpw", "delivered", ""},
		{307, elsewhere.URL, 1, 1, "Bearer t", "delivered", ""}, // the same host
		{303, "/next", 1, 0, "", "delivered", ""},
		{307, "/first", 6, 0, "", "failed", ErrRedirect.Error()}, // for ever
		{307, "file:///etc/secret", 1, 0, "", "failed", ErrRedirect.Error()},
		{307, "http://[::1?secret", 1, 0, "", "failed", ErrRedirect.Error()},
		{307, "", 1, 0, "", "failed", ErrRedirect.Error()},
		{304, "/next", 1, 0, "", "failed", "304"},
		{300, "/next", 1, 0, "", "failed", "300"},
	} {
		t.Run(fmt.Sprint(test.status, test.to), func(t *testing.T) {
			r := newReceiver(t, func(w http.ResponseWriter, q *http.Request) {
				if q.URL.Path == "/first" {
					w.Header().Set("Location", test.to)
					w.WriteHeader(test.status)
				}
			})
			s, log, outcomes := newSender(t, Options{AuthToken: "t"})
			end(t, s, r.URL+"/first")
			here, there := r.rest(), elsewhere.rest()
			assert.Equal(t, "jobs that ran here", len(here), test.here)
			assert.Equal(t, "jobs that ran there", len(there), test.there)
			hooks := append(here, there...)
			for _, h := range hooks {
				assert.True(t, h.Method == http.MethodPost && brief(h) == `succeeded 1 ""`,
					"a request is %s %s, want Method POST and brief %q", h.Method, h.Raw, `succeeded 1 ""`)
			}
			got := hooks[len(hooks)-1].Header.Get("Authorization")
			assert.True(t, (test.auth == "" || got == test.auth) && (len(there) == 0 || got == test.auth),
				"Authorization at the end: %q, want %q and %q", got, test.auth, test.auth)
			if outcomes.String() != "[completed "+test.outcome+":1]" || !strings.Contains(log.String(), test.complain) ||
				strings.Contains(log.String(), "secret") {
				t.Errorf("outcomes %s, logged %s, want %s, with %q and without the secret", outcomes, log, test.outcome,
					test.complain)
			}
		})
	}
}

// TestPost_HangingAnswer checks that an answer whose body never ends is an answer.
func TestPost_HangingAnswer(t *testing.T) {
	r := newReceiver(t, func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("Content-Length", "10")
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		select {
		case <-q.Context().Done():
		case <-t.Context().Done():
		}
	})
	s, _, outcomes := newSender(t, Options{})
	end(t, s, r.URL)
	assert.Equal(t, fmt.Sprintf("outcomes %s", outcomes), outcomes.String(), "[completed delivered:1]")
}

// TestPost_ConnectionsAreReused checks that the deliveries of one prediction share a connection.
func TestPost_ConnectionsAreReused(t *testing.T) {
	var opened atomic.Int32
	server := httptest.NewUnstartedServer(
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "taken") }))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	s, _, _ := newSender(t, Options{})
	p := attach(t, s, predict.Request{Webhook: server.URL, WebhookEvents: predict.AllEvents})
	p.Begin(time.Now())
	for range 20 {
		p.Output([]byte("1"))
	}
	p.yielded()
	drain(t, s)
	assert.Equal(t, "connections", opened.Load(), 1)
}

// TestPost_PayloadIsDetached checks that no part is read after detach, by a reader that is still open.
func TestPost_PayloadIsDetached(t *testing.T) {
	p := &payload{parts: [3][]byte{[]byte("ab"), nil, []byte("cd")}}
	for range 2 { // it can be sent again
		text, err := io.ReadAll(p.open())
		assert.True(t, err == nil && string(text) == "abcd", "read %q, %v, want abcd", text, err)
	}
	r := p.open()
	n, err := r.Read(make([]byte, 1))
	assert.True(t, n == 1 && err == nil, "read %d, %v, want 1", n, err)
	p.detach()
	n, err = r.Read(make([]byte, 1))
	assert.True(t, n == 0 && errors.Is(err, io.ErrClosedPipe), "read after detach: %d, %v, want 0 and io.ErrClosedPipe", n, err)
}

// TestPost_LargeOutput checks that a body in parts arrives whole.
func TestPost_LargeOutput(t *testing.T) {
	r := newReceiver(t, nil)
	s, _, _ := newSender(t, Options{})
	p := attach(t, s, predict.Request{Webhook: r.URL, WebhookEvents: completed})
	large := `"` + strings.Repeat("x", 3_000_000) + `"`
	p.succeed(large)
	drain(t, s)
	if h := r.next(t); string(h.Body.Output) != large ||
		h.Header.Get("Content-Length") != "" && h.Header.Get("Content-Length") != fmt.Sprint(len(h.Raw)) {
		t.Errorf("%d bytes arrived, want Output %q and Content-Length empty or %q", len(h.Raw), large, fmt.Sprint(len(h.Raw)))
	}
}

// TestPost_HTTP2 checks that a receiver that speaks it is served alike, by TLS.
func TestPost_HTTP2(t *testing.T) {
	protocols := make(chan string, 10)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if protocols <- r.Proto + " " + fmt.Sprint(len(body) > 100_000); len(protocols) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	s, _, _ := newSender(t, Options{Backoff: time.Millisecond})
	s.client = egress.New(egress.Options{
		TLS: server.Client().Transport.(*http.Transport).TLSClientConfig.Clone(), ConnectTimeout: time.Minute,
	})
	p := attach(t, s, predict.Request{Webhook: server.URL, WebhookEvents: completed})
	p.succeed(`"` + strings.Repeat("x", 100_000) + `"`)
	drain(t, s)
	for range 2 {
		assert.Equal(t, "<-protocols", <-protocols, "HTTP/2.0 true")
	}
}
