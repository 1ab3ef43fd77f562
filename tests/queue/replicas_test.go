package queue

import (
	"net/http"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestReplicas_Applied: a queue gets replicas by 'pinion jobs apply', and a server that asks for them joins it.
func TestReplicas_Applied(t *testing.T) {
	t.Parallel()
	var urls []string
	for _, n := range harness.StartNATSCluster(t) {
		urls = append(urls, n.URL)
	}
	joined := strings.Join(urls, ",")
	a := harness.StartMember(t, joined, harness.Options{})
	assert.Eventually(t, "it joins", func() bool {
		return a.Create(map[string]any{"id": "first", "input": harness.Input{}}, "Prefer",
			"respond-async").Code == http.StatusAccepted
	})
	apply := []string{"jobs", "apply", "--nats-replicas", "3", "--nats", joined, "--model", "m"}
	assert.Contains(t, "apply", (harness.CLI{}).Good(t, apply...), "num_replicas")
	assert.Equal(t, "the same again", (harness.CLI{}).Good(t, apply...), "nothing to change\n")
	b := harness.StartMember(t, joined, harness.Options{Dir: a.Dir, Args: []string{"--nats-replicas", "3"}})
	assert.Eventually(t, "the new replicas have a leader", func() bool {
		return b.Do(http.MethodPut, "/predictions/second", map[string]any{"input": harness.Input{}}, "Prefer",
			"respond-async").Code == http.StatusAccepted
	})
	harness.WaitStatus(t, a, "second", "succeeded")
}
