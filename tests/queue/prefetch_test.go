package queue

import (
	"fmt"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestPrefetch_JobTakenAheadGoesElsewhere: a server of short predictions takes one job ahead of its places. If what runs
// takes long after all, that job does not wait for it: a server with a free place has it.
func TestPrefetch_JobTakenAheadGoesElsewhere(t *testing.T) {
	t.Parallel()
	nats, a := startMember(t)
	open := harness.MakeFIFO(t, a.Dir, "first")
	defer harness.MakeFIFO(t, a.Dir, "long")()
	harness.Enqueue(t, a, "first", harness.Input{"gate": "first"})
	harness.WaitStatus(t, a, "first", "processing")
	for i := range 30 { // the average of their time forgets the first
		harness.Enqueue(t, a, fmt.Sprint("quick", i), harness.Input{})
	}
	harness.Enqueue(t, a, "long", harness.Input{"gate": "long"})
	harness.Enqueue(t, a, "next", harness.Input{"token": "next"})
	open()
	harness.WaitStatus(t, a, "quick29", "succeeded")
	harness.WaitStatus(t, a, "long", "processing")

	b := harness.StartMember(t, nats.URL, harness.Options{Dir: a.Dir})
	harness.WaitStatus(t, b, "next", "succeeded")
	assert.Equal(t, "the long one", harness.StateOf(b, "long").Status, "processing")
	assert.Equal(t, "runs", harness.TimesRun(t, a, "next"), 1)
}
