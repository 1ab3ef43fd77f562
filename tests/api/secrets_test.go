package api

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// The secrets that are planted, each in its own place. All begin alike, so that one look finds any of them.
const (
	planted        = "s3cr3t"
	secretKey      = planted + "-key-xyz"
	secretContext  = planted + "-context"
	secretBearer   = planted + "-bearer"
	secretHook     = planted + "-hook"     // a query's token of the webhook
	secretPassword = planted + "-password" // a URL's
	secretUpload   = planted + "-upload"   // a query's signature of the upload prefix
	secretDownload = planted + "-download" // a query's token of a download
	secretRedirect = planted + "-redirect" // a query's token of where a server redirects to
	secretUnknown  = planted + "-unknown"  // the value of an input that the model does not have
	maskedSecret   = "**********"
)

// spy is a receiver that keeps what it gets and shows that it knows the secrets.
type spy struct {
	*httptest.Server
	mu      sync.Mutex
	bodies  []string
	trusted map[string]int // requests that had a secret that they should have, by path
}

func newSpy(t *testing.T) *spy {
	s := &spy{trusted: map[string]int{}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *spy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bodies = append(s.bodies, string(body))
	if strings.Contains(r.URL.RawQuery, planted) &&
		(r.URL.Path != "/hook" || strings.Contains(r.Header.Get("Authorization"), secretBearer)) {
		s.trusted[r.URL.Path]++
	}
	switch r.URL.Path {
	case "/refused", "/none", "/store-refused/made.txt", "/hook-refused":
		http.Error(w, "no: "+r.URL.String(), http.StatusForbidden) // its words must not be passed on
	case "/away":
		w.Header().Set("Location", "ftp://example.com/?token="+secretRedirect)
		w.WriteHeader(http.StatusFound)
	}
}

// url is an address of the spy's with a password and a query.
func (s *spy) url(path, query string) string {
	return strings.Replace(s.URL, "http://", "http://user:"+secretPassword+"@", 1) + path + "?token=" + query
}

// secretsRun is a server of which everything is kept that it said, and the spy that plays the outside.
type secretsRun struct {
	t    *testing.T
	s    *harness.Server
	spy  *spy
	said map[string]string // by what it answered
}

// note keeps an answer.
func (r *secretsRun) note(what string, a harness.Answer) harness.Answer {
	r.t.Helper()
	assert.NoError(r.t, a.Err, what)
	r.said[what] = fmt.Sprint(a.Header) + string(a.Body)
	return a
}

// request is a body with a secret in each place that takes one.
func (r *secretsRun) request(id string, more harness.Input) harness.Input {
	in := harness.Input{
		"key": secretKey, "keys": []string{secretKey, secretKey}, "maybe": secretKey, "expected": "zyx",
		"no_such_input": secretUnknown,
	}
	maps.Copy(in, more)
	return harness.Input{
		"id": id, "input": in, "context": harness.Input{"user": secretContext},
		"webhook": r.spy.url("/hook", secretHook),
	}
}

// TestSecrets_AppearNowhere plants a secret in each place where a request or an operator may put one, makes everything
// happen that makes a server talk, and looks through all that it said.
func TestSecrets_AppearNowhere(t *testing.T) {
	t.Parallel()
	r := &secretsRun{t: t, spy: newSpy(t), said: map[string]string{}}
	r.s = harness.Ready(t, harness.Options{
		Model: "api/secrets.py", Args: []string{"--queue", "4", "--access-log"},
		Env: []string{"WEBHOOK_AUTH_TOKEN=" + secretBearer, "COG_LOG_LEVEL=debug", "COG_THROTTLE_RESPONSE_INTERVAL=0"},
	})
	r.succeed()
	r.inFlight()
	r.fail()
	r.refuse()
	r.transfer()
	r.webhooks()
	r.note("schema", r.s.Do("GET", "/openapi.json", nil))
	r.note("canceled", r.s.Cancel("none"))
	r.s.Stop() // when the last webhooks are delivered
	r.search()
}

// succeed: the model gets the secrets, and its objects are masked.
func (r *secretsRun) succeed() {
	t := r.t
	a := r.note("success", r.s.Create(r.request("success", nil)))
	assert.Contains(t, "output", string(a.Output), "[true,true,true]", maskedSecret, `["user"]`)
	assert.Contains(t, "logs", a.Logs, "key "+maskedSecret)
	r.note("polling", r.s.Do("GET", "/predictions/success", nil))
	assert.Contains(t, "polled input", r.said["polling"], `"input":{`, maskedSecret)
	stream := r.note("stream", r.s.Create(r.request("stream", nil), "Accept", "text/event-stream"))
	assert.Contains(t, "stream", string(stream.Body), "event: output", maskedSecret, "event: completed")
}

// inFlight asks for a prediction that runs, in every way.
func (r *secretsRun) inFlight() {
	t := r.t
	open := harness.MakeFIFO(t, r.s.Dir, "gate")
	r.note("async", r.s.Create(r.request("async", harness.Input{"how": "wait"}), "Prefer", "respond-async"))
	assert.Eventually(t, "it runs", func() bool {
		return r.note("polling in flight", r.s.Do("GET", "/predictions/async", nil)).Status == "processing"
	})
	r.note("joined", r.s.Do("PUT", "/predictions/async", harness.Input{}))
	r.note("in flight", r.s.Create(r.request("async", nil)))
	r.note("health", r.s.Do("GET", "/health-check", nil))
	open()
	assert.Eventually(t, "it has ended", func() bool {
		return r.note("polling at the end", r.s.Do("GET", "/predictions/async", nil)).Status == "succeeded"
	})
}

// fail: the model raises, and the worker dies.
func (r *secretsRun) fail() {
	t := r.t
	a := r.note("raise", r.s.Create(r.request("raise", harness.Input{"how": "raise"})))
	assert.Contains(t, "error", a.Error, "cannot log in with Secret("+maskedSecret+")")
	harness.WantStatus(t, "die", r.note("die", r.s.Create(r.request("die", harness.Input{"how": "die"}))), "failed")
	r.s.WaitHealth("READY")
}

// refuse sends inputs that do not fit.
func (r *secretsRun) refuse() {
	t := r.t
	for name, more := range map[string]harness.Input{
		"too short": {"key": planted}, "too long": {"key": strings.Repeat(secretKey, 10)},
		"no text":   {"key": []string{secretKey}},
		"an object": {"key": harness.Input{secretKey: secretKey}}, "no list": {"keys": secretKey},
		"an item":         {"keys": []any{secretKey, []string{secretKey}}},
		"an optional one": {"maybe": []string{secretKey}},
	} {
		harness.WantCode(t, name, r.note("refused: "+name, r.s.Create(r.request("refused", more))),
			http.StatusUnprocessableEntity)
	}
}

// transfer: files that are taken, that fail, and where a redirect leads nowhere.
func (r *secretsRun) transfer() {
	t := r.t
	r.note("download", r.s.Create(r.request("download", harness.Input{"file": r.spy.url("/some.txt", secretDownload)})))
	for _, path := range []string{"/none", "/away"} {
		a := r.note("download"+path, r.s.Create(r.request("failing", harness.Input{"file": r.spy.url(path, secretDownload)})))
		assert.Contains(t, "error of a download", a.Error, "cannot fetch", path)
	}
	a := r.note("no host", r.s.Create(
		r.request("failing", harness.Input{
			"file": "http://user:" + secretPassword + "@127.0.0.1:1/x?token=" + secretDownload,
		})))
	assert.Contains(t, "error of a download", a.Error, "cannot fetch http://127.0.0.1:1/x")
	for path, status := range map[string]string{"/store": "succeeded", "/store-refused": "failed"} {
		up := r.request("upload", harness.Input{"how": "make"})
		up["output_file_prefix"] = r.spy.url(path, secretUpload)
		harness.WantStatus(t, "upload", r.note("upload to "+path, r.s.Create(up)), status)
	}
}

// webhooks are refused, and sent to an address without a listener.
func (r *secretsRun) webhooks() {
	refused := r.request("lost", nil)
	refused["webhook"] = r.spy.url("/hook-refused", secretHook)
	r.note("webhook refused", r.s.Create(refused))
	refused["id"], refused["webhook_events_filter"] = "lost2", []string{"start"}
	refused["webhook"] = "http://user:" + secretPassword + "@127.0.0.1:1/" + "?token=" + secretHook
	r.note("webhook without a receiver", r.s.Create(refused))
}

// search looks through all that the server said.
func (r *secretsRun) search() {
	t := r.t
	r.said["the server's log"] = r.s.Log.String()
	r.spy.mu.Lock()
	defer r.spy.mu.Unlock()
	for i, body := range r.spy.bodies {
		r.said[fmt.Sprint("webhook ", i)] = body
	}
	assert.Contains(t, "the log", r.said["the server's log"], "webhook delivery failed", `"msg":"request"`) // it did talk
	for what, text := range r.said {
		at := strings.Index(text, planted)
		assert.True(t, at < 0, "%s shows a secret, want none: …%.120q…", what, text[max(0, at-60):])
	}
	for _, path := range []string{"/hook", "/some.txt", "/store/made.txt", "/hook-refused"} {
		assert.True(t, r.spy.trusted[path] != 0,
			"nothing came to %s with its secret: the test proves nothing, want anything but 0", path)
	}
}
