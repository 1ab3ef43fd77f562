package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"
)

// times returns n equal times.
func times(n int, each time.Duration) []time.Duration { return slices.Repeat([]time.Duration{each}, n) }

// good returns a pair in which every promise is kept.
func good() (peak, overload *tally) {
	peak = &tally{length: time.Second, asked: 100, accepted: times(100, 50*time.Millisecond)}
	overload = &tally{
		length: time.Second, asked: 1000, accepted: times(99, 52*time.Millisecond),
		refused: times(901, 200*time.Microsecond),
	}
	return peak, overload
}

func TestTally_KeptPromise(t *testing.T) {
	var out bytes.Buffer
	peak, overload := good()
	if report(&out, setting{times: 10}, peak, overload) != fulfilled || strings.Contains(out.String(), "NOT KEPT") {
		t.Errorf("not kept, want report %d and out without \"NOT KEPT\":\n%s", fulfilled, out.String())
	}
}

func TestTally_BrokenPromiseIsTold(t *testing.T) {
	for want, spoil := range map[string]func(peak, overload *tally){
		"throughput":                  func(_, overload *tally) { overload.accepted = overload.accepted[:94] },
		"p50 of what is accepted":     func(_, overload *tally) { overload.accepted = times(99, 56*time.Millisecond) },
		"p99 of what is accepted":     func(_, overload *tally) { overload.accepted[98] = time.Second },
		"p50 of what is refused":      func(_, overload *tally) { overload.refused = times(901, 2*time.Millisecond) },
		"p99 of what is refused":      func(_, overload *tally) { copy(overload.refused, times(20, time.Second)) },
		"what is too much is refused": func(_, overload *tally) { overload.refused = nil },
		"everything is accepted":      func(_, overload *tally) { overload.failed = 1 },
	} {
		peak, overload := good()
		spoil(peak, overload)
		var out bytes.Buffer
		if report(&out, setting{times: 10}, peak, overload) != broken || !strings.Contains(out.String(), "NOT KEPT: "+want) {
			t.Errorf("%s is missing in, want report %d and out with %q:\n%s", want, broken, "NOT KEPT: "+want, out.String())
		}
	}
}

func TestTally_StoppedMachineShowsNothing(t *testing.T) {
	peak, overload := good()
	for _, spoil := range []func(){func() {}, func() { overload.failed = 1 }} {
		spoil()
		var out bytes.Buffer
		if got := report(&out, setting{times: 10, stolen: 0.006}, peak, overload); got != unknown ||
			!strings.Contains(out.String(), "NOTHING SHOWN") {
			t.Errorf("%d, want %d and a text with \"NOTHING SHOWN\":\n%s", got, unknown, out.String())
		}
	}
}
