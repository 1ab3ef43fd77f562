package queue

import (
	"path/filepath"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// startMember starts NATS and a server that is a member of its job queue.
func startMember(t *testing.T) (*harness.NATS, *harness.Server) {
	t.Helper()
	nats := harness.StartNATS(t)
	return nats, harness.StartMember(t, nats.URL, harness.Options{})
}

// succeedsAtGate opens the gate of a prediction that two workers run until it has succeeded: the first opening may come
// before the second worker waits there.
func succeedsAtGate(t testing.TB, s *harness.Server, id string) (a harness.Answer) {
	t.Helper()
	assert.Eventually(t, id+" has succeeded", func() bool {
		harness.OpenFIFO(filepath.Join(s.Dir, "gate"))
		a = harness.StateOf(s, id)
		return a.Status == "succeeded"
	})
	return a
}
