package queue

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestQueue_WithoutStream: an operator deletes a stream, and restores it. Meanwhile requests are refused and leave
// nothing behind, and the server serves the others; afterwards it goes on without a restart.
func TestQueue_WithoutStream(t *testing.T) {
	t.Parallel()
	nats, a := startMember(t)
	for _, name := range []string{"PINION_JOBS_m", "KV_pinion_state_m"} {
		restore := harness.DeleteStream(t, nats, name)
		for range 2 {
			var got harness.Answer
			assert.Eventually(t, "it is refused without "+name+", not left in doubt", func() bool {
				got = a.Create(map[string]any{"id": name, "input": harness.Input{"token": name}}, "Prefer", "respond-async")
				return strings.Contains(string(got.Body), "NATS has no stream for them")
			})
			harness.WantCode(t, "without "+name, got, http.StatusServiceUnavailable)
			assert.Equal(t, fmt.Sprintf("%v", got.Header), got.Header.Get("Pinion-Retry"), "elsewhere")
		}
		harness.WantCode(t, "a synchronous request", a.Input(harness.Input{}), http.StatusOK)
		restore()
		assert.Eventually(t, "the same id is accepted", func() bool {
			return a.Create(map[string]any{"id": name, "input": harness.Input{"token": name}}, "Prefer",
				"respond-async").Code == http.StatusAccepted
		})
		harness.WaitStatus(t, a, name, "succeeded")
		assert.Equal(t, "runs", harness.TimesRun(t, a, name), 1)
	}
}
