package api

import (
	"net/http"
	"path/filepath"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestCallsDeadline_IsTheCallers: a call that waits for a busy model ends at the deadline of the request that made it.
func TestCallsDeadline_IsTheCallers(t *testing.T) {
	t.Parallel()
	s, dir := callingPair(t, "--queue", "4", "--queue-timeout", "1h")
	open := harness.MakeFIFO(t, filepath.Join(dir, "b"), "gate")
	first := make(chan harness.Answer, 1)
	go func() { first <- harness.PredictBy(s, "b", harness.Input{"text": "gate"}) }()
	s.WaitLog("b begins")
	a := s.Do(http.MethodPost, "/models/a/predictions", map[string]any{"input": harness.Input{"text": "late"}},
		"Pinion-Deadline", "3")
	failedWith(t, a, "Timed out in the queue before a prediction slot was free")
	open()
	harness.WantStatus(t, "the first ended with", harness.Receive(t, first), "succeeded")
}

// TestCallsDeadline_TimeLimitOfTheCaller ends what it called: running, and waiting.
func TestCallsDeadline_TimeLimitOfTheCaller(t *testing.T) {
	t.Parallel()
	s, dir := callingModels(t, map[string]string{"a": callingModel, "b": calledModel},
		map[string]string{"a": ", predict-timeout: 2s", "b": ", queue: 4"}, harness.Options{})
	open := harness.MakeFIFO(t, filepath.Join(dir, "b"), "gate")
	timedOut := func() {
		t.Helper()
		failedWith(t, harness.PredictBy(s, "a", harness.Input{"text": "gate"}), "Prediction timed out: it ran for longer than 2s")
	}
	timedOut()
	s.WaitLog("b was canceled")

	first := make(chan harness.Answer, 1)
	go func() { first <- harness.PredictBy(s, "b", harness.Input{"text": "gate"}) }()
	assert.Eventually(t, "b is busy", func() bool { return s.Log.Count("b begins") == 2 })
	timedOut()
	assert.Eventually(t, "no call waits", func() bool { return modelEntries(t, s)["b"].Queue.Length == 0 })
	open()
	harness.WantStatus(t, "the first ended with", harness.Receive(t, first), "succeeded")
}
