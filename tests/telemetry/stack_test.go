package telemetry

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// wantStack asks the live view for the Python stack of a prediction until it has these texts: the model may just begin.
func wantStack(t *testing.T, s *harness.Server, id string, want ...string) (got string) {
	t.Helper()
	assert.Eventually(t, "the stack of "+id+" has "+strings.Join(want, ", "), func() bool {
		answer := s.Do(http.MethodPost, "/dashboard/stack?kind=prediction&id="+id, nil)
		var body struct{ Stack string }
		assert.NoError(t, json.Unmarshal(answer.Body, &body), "the stack of", id, "is", answer)
		got = body.Stack
		return !slices.ContainsFunc(want, func(text string) bool { return !strings.Contains(got, text) })
	})
	for _, no := range []string{"/cog/_worker/", "s3cr3t"} {
		assert.False(t, strings.Contains(got, no), "%s: got the stack\n%s\nwant no %q in it", id, got, no)
	}
	return got
}

// impatient are the arguments of a server that waits for no prediction at its end.
func impatient(more ...string) []string { return append(more, "--grace", "1s", "--cancel-grace", "1s") }

func beginAsync(t *testing.T, s *harness.Server, id string, input map[string]any) {
	t.Helper()
	harness.WantCode(t, "PUT "+id, s.Do(http.MethodPut, "/predictions/"+id, map[string]any{"input": input},
		"Prefer", "respond-async"), http.StatusAccepted)
}

func TestStack_Sync(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "stuck.py:run", Args: impatient("--queue", "3", "--workers", "3")})
	for how, want := range map[string][]string{
		"wait": {"stuck.py\"", "in wait_long", "in run"},
		"pool": {"in run", "Thread 1 (most recent call first)", "in wait_long"},
		"gil":  {"in wait_in_c_with_gil", "in run"},
	} {
		beginAsync(t, s, how, map[string]any{"how": how, "token": "s3cr3t"})
		wantStack(t, s, how, want...)
		harness.WantCode(t, "cancel", s.Cancel(how), http.StatusOK)
	}
	for about, path := range map[string]string{
		"an unknown prediction": "?kind=prediction&id=none", "an unknown training": "?kind=training&id=wait",
	} {
		harness.WantAnswer(t, about, s.Do(http.MethodPost, "/dashboard/stack"+path, nil), http.StatusConflict, "does not run")
	}
	for _, path := range []string{"", "?kind=prediction", "?kind=x&id=y"} {
		harness.WantCode(t, "a stack of "+path, s.Do(http.MethodPost, "/dashboard/stack"+path, nil), http.StatusBadRequest)
	}
}

// TestStack_Threads: the stack is that of the prediction's own thread, and the others go on.
func TestStack_Threads(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "stuck.py:run", Args: impatient("--concurrency", "3")})
	beginAsync(t, s, "a", map[string]any{})
	beginAsync(t, s, "b", map[string]any{"how": "pool", "token": "s3cr3t"})
	wantStack(t, s, "a", "in wait_long", "in run")
	wantStack(t, s, "b", "in result", "in run")
	for _, id := range []string{"a", "b"} {
		harness.WantCode(t, "cancel "+id, s.Cancel(id), http.StatusOK)
	}
}

func TestStack_Async(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "stuck.py:on_loop", Args: impatient()})
	for _, how := range []string{"wait", "gather", "items", "task", "thread"} {
		beginAsync(t, s, how, map[string]any{"how": how})
	}
	for how, want := range map[string][]string{
		"wait": {"Task of the prediction", "in wait_on_loop", "in on_loop"}, "gather": {"in wait_on_loop", "in on_loop"},
		"items": {"in wait_on_loop", "in items", "in on_loop"}, "task": {"in wait_on_loop", "in on_loop"},
		"thread": {"in to_thread", "in wait_long"},
	} {
		got := wantStack(t, s, how, append(want, "Event loop")...)
		n := strings.Count(got, "Task of the prediction")
		assert.True(t, n == 1, "%s: got the tasks of %d predictions, want 1\n%s", how, n, got)
	}
	beginAsync(t, s, "block", map[string]any{"how": "block"})
	wantStack(t, s, "block", "in wait_long", "in on_loop")
}

func TestStack_Batch(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "stuck.py:in_batches", Args: impatient()})
	beginAsync(t, s, "one", map[string]any{"text": "x"})
	wantStack(t, s, "one", "in wait", "in in_batches")
}

// TestStack_IsForThoseWhoCancel: it takes the token of the API, a page of another origin gets none, and the port
// without tokens has none.
func TestStack_IsForThoseWhoCancel(t *testing.T) {
	t.Parallel()
	const token = "a-token-0123456789"
	s := harness.Ready(t, harness.Options{
		Model: "stuck.py:run", Args: []string{"--auth-token-file", harness.TokenFile(t, token)},
	})
	path := "/dashboard/stack?kind=prediction&id=a"
	harness.WantCode(t, "without a token", s.Do(http.MethodPost, path, nil), http.StatusUnauthorized)
	harness.WantCode(t, "with it", s.Do(http.MethodPost, path, nil, "Authorization", "Bearer "+token), http.StatusConflict)
	open := harness.Ready(t, harness.Options{Model: "stuck.py:run", Args: []string{"--metrics-port", "0"}})
	port := harness.At(open.WaitLog("serving metrics and probes").MetricsAddress)
	harness.WantCode(t, "at the port for monitoring", port.Do(http.MethodPost, path, nil), http.StatusNotFound)
	harness.WantCode(t, "GET", s.Do(http.MethodGet, path, nil, "Authorization", "Bearer "+token), http.StatusMethodNotAllowed)
	plain := harness.Ready(t, harness.Options{Model: "stuck.py:run"})
	harness.WantCode(t, "a page of another origin", plain.Do(http.MethodPost, path, nil, "Origin", "http://elsewhere.example"),
		http.StatusForbidden)
}
