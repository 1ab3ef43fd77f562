package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// tally is the result of a part.
type tally struct {
	mu       sync.Mutex
	length   time.Duration
	asked    int
	accepted []time.Duration
	refused  []time.Duration
	failed   int
}

func (t *tally) rate() float64 { return float64(len(t.accepted)) / t.length.Seconds() }

// add adds another part.
func (t *tally) add(other *tally) {
	t.length += other.length
	t.asked += other.asked
	t.failed += other.failed
	t.accepted = append(t.accepted, other.accepted...)
	t.refused = append(t.refused, other.refused...)
}

// at returns the quantile of the times at part, 0 to 1.
func at(times []time.Duration, part float64) time.Duration {
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	return times[min(len(times)-1, int(part*float64(len(times))))]
}

// The promises: the latency of accepted work grows by no more than this; refusals come within this time; the throughput
// keeps this part of its peak.
const (
	latencyBound    = 1.1
	refusedWithin   = time.Millisecond
	throughputBound = 0.95
)

// stolenTooMuch is the part of the CPU time beyond which a run shows nothing: a host that gives more than this to
// others stops the machine for milliseconds again and again, and the slowest hundredth of the answers shows that and
// not the server.
const stolenTooMuch = 0.005

// outcome is the result of a run, and the exit code.
type outcome int

const (
	fulfilled outcome = 0
	broken    outcome = 1
	unknown   outcome = 3 // nothing: too much was stolen
)

// report prints both parts, how they compare, and which promise was not kept.
func report(out io.Writer, s setting, peak, overload *tally) outcome {
	fmt.Fprintf(out, "%d workers, %d may wait, a prediction takes %v; for %v, load of the machine %s, of its CPU time %.1f %% taken by other machines\n",
		s.workers, s.queue, s.predictTime, s.length, machineLoad(), 100*s.stolen)
	fmt.Fprintf(out, "%-28s %12s %12s %8s\n", "", "peak", fmt.Sprintf("%g times", s.times), "ratio")
	line := func(what string, a, b float64, unit string) {
		ratio := "-"
		if a > 0 {
			ratio = fmt.Sprintf("%.3f", b/a)
		}
		fmt.Fprintf(out, "%-28s %9.2f %-2s %9.2f %-2s %8s\n", what, a, unit, b, unit, ratio)
	}
	line("asked for, a second", float64(peak.asked)/peak.length.Seconds(),
		float64(overload.asked)/overload.length.Seconds(), "")
	line("done, a second", peak.rate(), overload.rate(), "")
	for _, part := range []float64{0.5, 0.9, 0.99} {
		line(fmt.Sprintf("accepted, p%g", part*100), ms(at(peak.accepted, part)), ms(at(overload.accepted, part)), "ms")
	}
	for _, part := range []float64{0.5, 0.9, 0.99} {
		line(fmt.Sprintf("refused, p%g", part*100), ms(at(peak.refused, part)), ms(at(overload.refused, part)), "ms")
	}
	fmt.Fprintf(out, "refused %d of %d; neither accepted nor refused: %d\n", len(overload.refused), overload.asked,
		peak.failed+overload.failed)
	missed := missed(peak, overload)
	for _, promise := range missed {
		fmt.Fprintln(out, "NOT KEPT:", promise)
	}
	switch {
	case s.stolen > stolenTooMuch:
		fmt.Fprintf(out, "NOTHING SHOWN: other machines took more than %g %% of the CPU time; measure again\n",
			100*stolenTooMuch)
		return unknown
	case len(missed) > 0:
		return broken
	default:
		return fulfilled
	}
}

// missed returns the promises that were not kept.
func missed(peak, overload *tally) (list []string) {
	if overload.rate() < throughputBound*peak.rate() {
		list = append(list, fmt.Sprintf("throughput keeps %g of its peak", throughputBound))
	}
	for _, part := range []float64{0.5, 0.99} {
		if float64(at(overload.accepted, part)) > latencyBound*float64(at(peak.accepted, part)) {
			list = append(list, fmt.Sprintf("p%g of what is accepted grows by no more than a factor of %g", part*100,
				latencyBound))
		}
		if at(overload.refused, part) > refusedWithin {
			list = append(list, fmt.Sprintf("p%g of what is refused is refused within %v", part*100, refusedWithin))
		}
	}
	if len(overload.refused) == 0 {
		list = append(list, "what is too much is refused")
	}
	if peak.failed+overload.failed > 0 {
		list = append(list, "everything is accepted or refused")
	}
	return list
}

// machineLoad returns what else the machine does, or did in the last minute.
func machineLoad() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}

// cpuTime returns the CPU time of the machine since it began, and what its host gave to others of it, in ticks; 0 where
// unknown.
func cpuTime() (total, stolen float64) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0
	}
	first, _, _ := strings.Cut(string(text), "\n")
	const steal = 8
	for i, field := range strings.Fields(first)[1:] {
		ticks, _ := strconv.ParseFloat(field, 64)
		if i < steal { // the rest is in user and nice already
			total += ticks
		}
		if i == steal-1 {
			stolen = ticks
		}
	}
	return total, stolen
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
