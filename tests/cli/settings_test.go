package cli

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"pinion/tests/harness"
)

// TestSettings_TokensLastNewlineIsNoPartOfIt, for files of secrets often end with one.
func TestSettings_TokensLastNewlineIsNoPartOfIt(t *testing.T) {
	t.Parallel()
	got := make(chan string, 1)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got <- r.Header.Get("Authorization")
	}))
	defer receiver.Close()
	s := harness.Ready(t, harness.Options{Model: "echo.py:text", Env: []string{"WEBHOOK_AUTH_TOKEN=token\n"}})
	s.Create(harness.Input{
		"input": harness.Input{"text": "x"}, "webhook": receiver.URL,
		"webhook_events_filter": []string{"completed"},
	})
	harness.Equal(t, "the webhook's authorization", <-got, "Bearer token")
}
