package cli

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"pinion/tests/assert"
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
	assert.Equal(t, "the webhook's authorization", <-got, "Bearer token")
}

// TestSettings_WithoutEffectAreNamed: those of the server that no model lets work.
func TestSettings_WithoutEffectAreNamed(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{
		Model: "echo.py:text", Args: []string{"--replay-puts", "--result-ttl", "0", "--openai-strict", "--protocols", "none"},
	})
	s.WaitLog("--replay-puts has no effect with --result-ttl 0")
	s.WaitLog("--openai-strict has no effect without openai or anthropic in --protocols")
}
