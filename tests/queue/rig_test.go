package queue

import (
	"path/filepath"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"pinion/tests/harness"
)

// jetStream is a connection to NATS as its operator has it.
func jetStream(t testing.TB, at *harness.NATS) jetstream.JetStream {
	t.Helper()
	nc, err := nats.Connect(at.Operator())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// succeedsAtGate opens the gate of a prediction that two workers run until it has succeeded: the first opening may come
// before the second worker waits there.
func succeedsAtGate(t testing.TB, s *harness.Server, id string) (a harness.Answer) {
	t.Helper()
	harness.Eventually(t, id+" has succeeded", func() bool {
		harness.OpenFIFO(filepath.Join(s.Dir, "gate"))
		a = harness.StateOf(s, id)
		return a.Status == "succeeded"
	})
	return a
}
