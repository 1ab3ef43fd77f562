package queue

import (
	"net/http"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestLostStore_QueueIsMadeAgain: NATS comes back without its store. Its members make the queue again, and the gateway
// knows the inputs of the model again.
func TestLostStore_QueueIsMadeAgain(t *testing.T) {
	t.Parallel()
	nats, server := startMember(t)
	gateway := harness.StartGateway(t, nats.URL)
	wrong := func() int {
		return gateway.Create(map[string]any{"input": map[string]any{"token": 1}}, "Prefer", "respond-async").Code
	}
	assert.Eventually(t, "the gateway knows the inputs", func() bool { return wrong() == http.StatusUnprocessableEntity })
	nats.Kill()
	nats.RemoveStore()
	nats.Start()
	assert.Eventually(t, "a job is accepted", func() bool {
		return gateway.Create(map[string]any{"id": "p1", "input": harness.Input{}}, "Prefer", "respond-async").Code ==
			http.StatusAccepted
	})
	harness.WaitStatus(t, server, "p1", "succeeded")
	assert.Eventually(t, "the gateway knows the inputs again", func() bool {
		return wrong() == http.StatusUnprocessableEntity
	})
}
