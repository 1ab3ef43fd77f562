package tests

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

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
	if strings.Contains(r.URL.RawQuery, planted) && (r.URL.Path != "/hook" || strings.Contains(r.Header.Get("Authorization"), secretBearer)) {
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

// TestSecretsAppearNowhere plants a secret in each place where a request or an operator may put one, makes everything
// happen that makes a server talk, and looks through all that it said.
func TestSecretsAppearNowhere(t *testing.T) {
	t.Parallel()
	spy := newSpy(t)
	s := harness.Ready(t, harness.Options{Model: "api/secrets.py", Args: []string{"--queue", "4", "--access-log"}, Env: []string{
		"WEBHOOK_AUTH_TOKEN=" + secretBearer, "COG_LOG_LEVEL=debug", "COG_THROTTLE_RESPONSE_INTERVAL=0",
	}})
	said := map[string]string{}
	note := func(what string, a harness.Answer) harness.Answer {
		t.Helper()
		if a.Err != nil {
			t.Fatalf("%s: %v", what, a.Err)
		}
		said[what] = fmt.Sprint(a.Header) + string(a.Body)
		return a
	}
	base := func(more input) input {
		in := input{
			"key": secretKey, "keys": []string{secretKey, secretKey}, "maybe": secretKey, "expected": "zyx",
			"no_such_input": secretUnknown,
		}
		for name, value := range more {
			in[name] = value
		}
		return in
	}
	request := func(id string, more input) input {
		return input{
			"id": id, "input": base(more), "context": input{"user": secretContext},
			"webhook": spy.url("/hook", secretHook),
		}
	}

	// All goes well: the model gets the secrets, and its objects are masked.
	a := note("success", s.Create(request("success", nil)))
	wantText(t, "output", string(a.Output), "[true,true,true]", maskedSecret, `["user"]`)
	wantText(t, "logs", a.Logs, "key "+maskedSecret)
	note("polling", s.Do("GET", "/predictions/success", nil))
	wantText(t, "polled input", said["polling"], `"input":{`, maskedSecret)
	stream := note("stream", s.Create(request("stream", nil), "Accept", "text/event-stream"))
	wantText(t, "stream", string(stream.Body), "event: output", maskedSecret, "event: completed")

	// In flight.
	open := makeFIFO(t, s.Dir, "gate")
	note("async", s.Create(request("async", input{"how": "wait"}), "Prefer", "respond-async"))
	harness.Eventually(t, "it runs", func() bool {
		return note("polling in flight", s.Do("GET", "/predictions/async", nil)).Status == "processing"
	})
	note("joined", s.Do("PUT", "/predictions/async", input{}))
	note("in flight", s.Create(request("async", nil)))
	note("health", s.Do("GET", "/health-check", nil))
	open()
	harness.Eventually(t, "it has ended", func() bool {
		return note("polling at the end", s.Do("GET", "/predictions/async", nil)).Status == "succeeded"
	})

	// The model fails, and the worker dies.
	a = note("raise", s.Create(request("raise", input{"how": "raise"})))
	wantText(t, "error", a.Error, "cannot log in with Secret("+maskedSecret+")")
	if a := note("die", s.Create(request("die", input{"how": "die"}))); a.Status != "failed" {
		t.Errorf("die: %s", a)
	}
	s.WaitHealth("READY")

	// Inputs that are refused.
	for name, more := range map[string]input{
		"too short": {"key": planted}, "too long": {"key": strings.Repeat(secretKey, 10)}, "no text": {"key": []string{secretKey}},
		"an object": {"key": input{secretKey: secretKey}}, "no list": {"keys": secretKey}, "an item": {"keys": []any{secretKey, []string{secretKey}}},
		"an optional one": {"maybe": []string{secretKey}},
	} {
		wantCode(t, name, note("refused: "+name, s.Create(request("refused", more))), http.StatusUnprocessableEntity)
	}

	// Files: that are taken, that fail, and where a redirect leads nowhere.
	note("download", s.Create(request("download", input{"file": spy.url("/some.txt", secretDownload)})))
	for _, path := range []string{"/none", "/away"} {
		a := note("download"+path, s.Create(request("failing", input{"file": spy.url(path, secretDownload)})))
		wantText(t, "error of a download", a.Error, "cannot fetch", path)
	}
	a = note("no host", s.Create(request("failing", input{"file": "http://user:" + secretPassword + "@127.0.0.1:1/x?token=" + secretDownload})))
	wantText(t, "error of a download", a.Error, "cannot fetch http://127.0.0.1:1/x")
	for path, status := range map[string]string{"/store": "succeeded", "/store-refused": "failed"} {
		up := request("upload", input{"how": "make"})
		up["output_file_prefix"] = spy.url(path, secretUpload)
		if a := note("upload to "+path, s.Create(up)); a.Status != status {
			t.Errorf("upload: %s", a)
		}
	}

	// A webhook that is not taken in, at an address without a listener too.
	refused := request("lost", nil)
	refused["webhook"] = spy.url("/hook-refused", secretHook)
	note("webhook refused", s.Create(refused))
	refused["id"], refused["webhook_events_filter"] = "lost2", []string{"start"}
	refused["webhook"] = "http://user:" + secretPassword + "@127.0.0.1:1/" + "?token=" + secretHook
	note("webhook without a receiver", s.Create(refused))
	note("schema", s.Do("GET", "/openapi.json", nil))
	note("canceled", s.Cancel("none"))
	s.Stop() // when the last webhooks are delivered

	said["the server's log"] = s.Log.String()
	spy.mu.Lock()
	defer spy.mu.Unlock()
	for i, body := range spy.bodies {
		said[fmt.Sprint("webhook ", i)] = body
	}
	wantText(t, "the log", said["the server's log"], "webhook was not told", `"msg":"request"`) // it did talk
	for what, text := range said {
		if at := strings.Index(text, planted); at >= 0 {
			t.Errorf("%s shows a secret: …%.120q…", what, text[max(0, at-60):])
		}
	}
	for _, path := range []string{"/hook", "/some.txt", "/store/made.txt", "/hook-refused"} {
		if spy.trusted[path] == 0 {
			t.Errorf("nothing came to %s with its secret: the test is none", path)
		}
	}
}
