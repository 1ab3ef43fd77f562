package batch

import (
	"encoding/csv"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pinion/tests/assert"
)

// report writes docs/explanation/batching-simulation.md and the data of its plot; bench/batching-simulation.sh calls
// it.
var report = flag.String("report", "", "the folder to write batching-simulation.md and batching-simulation.csv to")

const reportItems = 30000

func TestReport_Simulation(t *testing.T) {
	if *report == "" {
		t.Skip("only with -report FOLDER")
	}
	var text strings.Builder
	text.WriteString(preface)
	for _, p := range prices() {
		writeTable(&text, p)
	}
	text.WriteString(epilogue)
	assert.NoError(t, os.WriteFile(filepath.Join(*report, "batching-simulation.md"), []byte(text.String()), 0o644))
	assert.NoError(t, writeCurves(filepath.Join(*report, "batching-simulation.csv")))
}

// writeTable writes one cost model's table.
func writeTable(text *strings.Builder, p price) {
	rivals := append([]rival{noWait()}, fixedWaits()...)
	fmt.Fprintf(text, "### A batch of n costs %s\n\n", p.name)
	text.WriteString("| load | adaptive | mean batch |")
	for _, r := range rivals {
		fmt.Fprintf(text, " %s |", r.name)
	}
	text.WriteString(" bound |\n|---|---|---|")
	text.WriteString(strings.Repeat("---|", len(rivals)+1) + "\n")
	for _, l := range loads(p.capacity(simSize)) {
		do := func(r rival) outcome {
			return run{price: p, load: l, policy: r.policy, maxSize: simSize, workers: 1, items: reportItems, seed: 7}.do()
		}
		ours := do(adaptive())
		if l.open != nil {
			fmt.Fprintf(text, "| %s | %s, %s | %.1f |", l.name, inMs(ours.mean), inMs(ours.p99), ours.size)
		} else {
			fmt.Fprintf(text, "| %s | %.0f/s | %.1f |", l.name, ours.rate, ours.size)
		}
		for _, r := range rivals {
			theirs := do(r)
			if l.open != nil {
				fmt.Fprintf(text, " %.2f, %.2f |", float64(theirs.mean)/float64(ours.mean), float64(theirs.p99)/float64(ours.p99))
			} else {
				fmt.Fprintf(text, " %.2f |", theirs.rate/ours.rate)
			}
		}
		if l.open != nil {
			at := l.open(rand.New(rand.NewPCG(7, 1)), reportItems)
			fmt.Fprintf(text, " %.2f |\n", float64(clairvoyant(at, p, simSize))/float64(ours.mean))
		} else {
			fmt.Fprintf(text, " %.2f |\n", mostAnswers(l.clients, meanThink(l), p, simSize)/ours.rate)
		}
	}
	text.WriteString("\n")
}

func inMs(d time.Duration) string { return fmt.Sprintf("%.2f ms", d.Seconds()*1000) }

// writeCurves writes the plot's data: panel, policy, x, y.
func writeCurves(path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	w := csv.NewWriter(file)
	put := func(panel, policy string, x, y float64) {
		_ = w.Write([]string{panel, policy, fmt.Sprintf("%.4g", x), fmt.Sprintf("%.4g", y)})
	}
	p := line("", 5*ms, 100*us)
	rivals := append([]rival{adaptive(), noWait()}, fixedWaits()...)
	do := func(l load, r rival) outcome {
		return run{price: p, load: l, policy: r.policy, maxSize: simSize, workers: 1, items: reportItems, seed: 7}.do()
	}
	for _, kind := range []string{"Poisson", "bursts of 8"} {
		for _, share := range []float64{0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9} {
			l := load{open: poisson(share * p.capacity(simSize))}
			if kind != "Poisson" {
				l.open = bursty(share*p.capacity(simSize), 8, 20*us)
			}
			for _, r := range rivals {
				put(kind, r.name, share, do(l, r).mean.Seconds()*1000)
			}
			at := l.open(rand.New(rand.NewPCG(7, 1)), reportItems)
			put(kind, "clairvoyant", share, clairvoyant(at, p, simSize).Seconds()*1000)
		}
	}
	for _, clients := range []int{1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 28, 32, 40, 48, 64, 96, 128} {
		n := min(clients, simSize)
		for _, r := range rivals {
			put("closed", r.name, float64(clients), do(returning(clients), r).rate/(float64(n)/p.of(n).Seconds()))
		}
	}
	w.Flush()
	if err := w.Error(); err != nil {
		return err
	}
	return file.Close()
}

const preface = `# When a batch is dispatched: a simulation

` + "`runtime/batch`" + ` decides when a batch is dispatched; its documentation states the rule. This page drives the rule with a discrete-event simulator. It
compares the rule with other servers' rules: dispatch at once, or wait a fixed time for a full batch, from the moment at which an item is there and the
worker is free. The rule has no setting; it learns the cost of batches and the arrivals. Its few constants were chosen with these simulations and are the same
in all of them.

` + "`bench/batching-simulation.sh`" + ` writes this page and its plot. ` + "`go test ./runtime/batch`" +
	` runs shorter simulations. It fails if the rule is more than 2 % worse
than no wait, or more than 5 % worse than the best fixed wait. (With eight other random seeds both held. The worst 99th percentile then was 10.5 % above that of
no wait: bursts of 8 at 10 %.)

![Latency and throughput against load](batching-simulation.svg)

## The metric

* **Open load**: arrivals do not depend on the server. All rules answer the same number of requests, so they differ in latency. The tables give its mean and
  99th percentile.
* **Closed load**: a client sends its next request after its answer. The tables give throughput. The mean latency is clients divided by throughput, less the
  think time, and says the same.

The tests limit the mean and the throughput. They limit the 99th percentile to 6 % above that of no wait, because it depends on few bursts. Under steady arrivals
at a flat cost, even a wait that improves the mean adds its full length to the latency of items that come just after a batch.

## The setting

One worker; at most 32 items in a batch; each batch takes its cost ± 5 %; 30 000 requests, the first tenth not counted. Loads are in percent of the
worker's maximum.

| load | arrivals |
|---|---|
| Poisson | memoryless |
| bursts of 8 | bursts of geometric length, 8 on average, 20 µs apart on average |
| on and off | Poisson at 80 % for 200 ms, then at 2 % for 300 ms |
| clients | closed: an answer takes 50 µs, and the client's next request as long again on average |
| clients that think | the same with a random (exponential) think time of 2 ms |

*bound* for an open load is a schedule that knows all arrivals, found by a beam search. For a closed load it is the largest throughput that Little's law and
the cost of batches allow; a rule may be unable to reach it.

## Results

*adaptive* is absolute: mean and 99th percentile of the latency, or requests a second. The other columns are ratios to it. A latency above 1 is worse than
adaptive; so is a throughput below 1.

`

const epilogue = `## Where it is not the best

* A closed loop of 48 clients that think, with at most 32 in a batch and the stepped cost: up to a tenth behind a wait of 5 ms, which happens to fill every
  batch. There one more item costs nothing, but the rule counts the delay of the 24 that wait.
* Learning takes time. Under a stepped cost the rule dispatches 16 of 20 only after it has met batches of about 16. A closed loop in which those are rare
  takes up to 20 s to get there.
* Several workers: within 5 % of no wait under all these loads, with two and four workers and three of the costs; the test ` + "`TestSimulation_SeveralWorkers`" + ` checks it.
`
