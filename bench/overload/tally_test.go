package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"
)

// times are so many of the same length.
func times(n int, each time.Duration) []time.Duration { return slices.Repeat([]time.Duration{each}, n) }

// good is a pair in which every promise is kept.
func good() (peak, over *tally) {
	peak = &tally{length: time.Second, asked: 100, accepted: times(100, 50*time.Millisecond)}
	over = &tally{
		length: time.Second, asked: 1000, accepted: times(99, 52*time.Millisecond),
		refused: times(901, 200*time.Microsecond),
	}
	return peak, over
}

func TestTally_KeptPromise(t *testing.T) {
	var out bytes.Buffer
	peak, over := good()
	if report(&out, setting{times: 10}, peak, over) != fulfilled || strings.Contains(out.String(), "NOT KEPT") {
		t.Errorf("not kept, want report %d and out without \"NOT KEPT\":\n%s", fulfilled, out.String())
	}
}

func TestTally_BrokenPromiseIsTold(t *testing.T) {
	for want, spoil := range map[string]func(peak, over *tally){
		"throughput":                  func(_, over *tally) { over.accepted = over.accepted[:94] },
		"p50 of what is accepted":     func(_, over *tally) { over.accepted = times(99, 56*time.Millisecond) },
		"p99 of what is accepted":     func(_, over *tally) { over.accepted[98] = time.Second },
		"p50 of what is refused":      func(_, over *tally) { over.refused = times(901, 2*time.Millisecond) },
		"p99 of what is refused":      func(_, over *tally) { copy(over.refused, times(20, time.Second)) },
		"what is too much is refused": func(_, over *tally) { over.refused = nil },
		"everything is accepted":      func(_, over *tally) { over.failed = 1 },
	} {
		peak, over := good()
		spoil(peak, over)
		var out bytes.Buffer
		if report(&out, setting{times: 10}, peak, over) != broken || !strings.Contains(out.String(), "NOT KEPT: "+want) {
			t.Errorf("%s is missing in, want report %d and out with %q:\n%s", want, broken, "NOT KEPT: "+want, out.String())
		}
	}
}

func TestTally_StoppedMachineShowsNothing(t *testing.T) {
	peak, over := good()
	for _, spoil := range []func(){func() {}, func() { over.failed = 1 }} {
		spoil()
		var out bytes.Buffer
		if got := report(&out, setting{times: 10, stolen: 0.006}, peak, over); got != unknown ||
			!strings.Contains(out.String(), "NOTHING SHOWN") {
			t.Errorf("%d, want %d and a text with \"NOTHING SHOWN\":\n%s", got, unknown, out.String())
		}
	}
}
