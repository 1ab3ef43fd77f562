package tests

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"pinion/tests/harness"
)

// TestOddValuesOfCogsVariables are warned about, and the server runs as if they were not there. PORT is looked at in cmd/pinion.
func TestOddValuesOfCogsVariables(t *testing.T) {
	t.Parallel()
	odd := map[string]string{
		"COG_MAX_CONCURRENCY":            "many",
		"COG_SETUP_TIMEOUT":              "soon",
		"COG_LOG_LEVEL":                  "loud",
		"LOG_FORMAT":                     "text",
		"COG_THROTTLE_RESPONSE_INTERVAL": "-1",
		"COG_STREAM_HISTORY_CAPACITY":    "many",
		"COG_USER_AGENT":                 "two\nlines",
		"WEBHOOK_AUTH_TOKEN":             "a secret\x01",
	}
	var env []string
	for name, value := range odd {
		env = append(env, name+"="+value)
	}
	s := harness.Ready(t, harness.Options{Model: "echo.py:text", Env: env, FormatFromEnv: true})
	for name := range odd {
		line, found := s.Log.First(func(l harness.Line) bool { return strings.HasPrefix(l.Text, name+" is ignored: ") })
		if !found || line.Level != "WARN" {
			t.Errorf("%s: no warning", name)
		}
		if strings.Contains(line.Raw, "secret") {
			t.Errorf("the log has the token: %s", line.Raw)
		}
	}
}

// TestTheTokensLastNewlineIsNoPartOfIt, for files of secrets often end with one.
func TestTheTokensLastNewlineIsNoPartOfIt(t *testing.T) {
	t.Parallel()
	got := make(chan string, 1)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got <- r.Header.Get("Authorization")
	}))
	defer receiver.Close()
	s := harness.Ready(t, harness.Options{Model: "echo.py:text", Env: []string{"WEBHOOK_AUTH_TOKEN=token\n"}})
	s.Create(input{"input": input{"text": "x"}, "webhook": receiver.URL, "webhook_events_filter": []string{"completed"}})
	if auth := <-got; auth != "Bearer token" {
		t.Errorf("the webhook's authorization is %q", auth)
	}
}
