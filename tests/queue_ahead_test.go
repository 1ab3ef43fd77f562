package tests

import (
	"fmt"
	"testing"

	"pinion/tests/harness"
)

// TestAJobTakenAheadGoesElsewhere: a server of short predictions takes one job ahead of its places. If what runs takes
// long after all, that job does not wait for it: a server with a free place has it.
func TestAJobTakenAheadGoesElsewhere(t *testing.T) {
	t.Parallel()
	nats := harness.StartNATS(t)
	a := member(t, nats.URL, harness.Options{})
	open := makeFIFO(t, a.Dir, "first")
	defer makeFIFO(t, a.Dir, "long")()
	enqueue(t, a, "first", input{"gate": "first"})
	becomes(t, a, "first", "processing")
	for i := range 30 { // the average of their time forgets the first
		enqueue(t, a, fmt.Sprint("quick", i), input{})
	}
	enqueue(t, a, "long", input{"gate": "long"})
	enqueue(t, a, "next", input{"token": "next"})
	open()
	becomes(t, a, "quick29", "succeeded")
	becomes(t, a, "long", "processing")

	b := member(t, nats.URL, harness.Options{Dir: a.Dir})
	becomes(t, b, "next", "succeeded")
	if got := stateOf(b, "long"); got.Status != "processing" {
		t.Errorf("the long one is %s", got.Status)
	}
	if n := times(t, a, "next"); n != 1 {
		t.Errorf("it ran %d times", n)
	}
}
