package api

import (
	"net/http"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestBusy_RefusalsNameQueue: the body, a header, other protocols and the log say what to type; the log once a minute.
func TestBusy_RefusalsNameQueue(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "dying.py", Args: []string{"--model", "m"}})
	open, answer := harness.BeginAtGate(t, s, harness.Input{"token": "running"})
	for range 3 {
		a := s.Create(harness.Input{"input": harness.Input{"token": "refused"}})
		harness.WantCode(t, "a request beyond the slots", a, http.StatusConflict)
		assert.Contains(t, "the body", string(a.Body), `{"error":"At capacity - all prediction slots busy","status":"failed",`+
			`"fix":"start the server with --queue 64, or PINION_QUEUE=64`)
		assert.Contains(t, "the warning", a.Header.Get("Pinion-Warning"), "--queue 64")
	}
	a := s.Do(http.MethodPost, "/v1/models/m:predict", map[string]any{"instances": []any{map[string]any{"token": "x"}}})
	harness.WantCode(t, "a request of KServe", a, http.StatusTooManyRequests)
	assert.Contains(t, "the body", string(a.Body), "--queue 64")
	open()
	harness.WantStatus(t, "the answer", harness.Receive(t, answer), "succeeded")

	const text = "requests are refused: every slot is busy and there is no queue"
	assert.Eventually(t, "the log says so", func() bool { return s.Log.Count(text) > 0 })
	assert.Equal(t, "lines in the first minute", s.Log.Count(text), 1)
	line, _ := s.Log.Find(text)
	assert.True(t, strings.Contains(line.Raw, `"fix":"start the server with --queue 64`), "the line: %s", line.Raw)
}
