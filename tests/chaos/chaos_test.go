package chaos

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"pinion/tests/harness"
)

// checker and fleetChecker are the programs that judge, built once for the run.
var checker, fleetChecker string

func TestMain(m *testing.M) {
	if harness.IsNATS() { // its process needs no checkers
		os.Exit(harness.Main(m, "."))
	}
	folder, err := os.MkdirTemp("", "checker-of-pinion-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "make a folder for the checker:", err)
		os.Exit(1)
	}
	checker, fleetChecker = filepath.Join(folder, "checker"), filepath.Join(folder, "fleetchecker")
	out, err := exec.Command("go", "build", "-o", folder, "./checker", "./fleetchecker").CombinedOutput()
	code := 1
	if err == nil {
		code = harness.Main(m, ".")
	} else {
		fmt.Fprintf(os.Stderr, "build the checker: %v\n%s", err, out)
	}
	os.RemoveAll(folder)
	os.Exit(code)
}

// defaultSeed is for runs without PINION_CHAOS_SEED.
const defaultSeed = 6

// roundSize is how many faults lie between two runs of the checker.
const roundSize = 60

func TestChaos_NothingIsLost(t *testing.T) {
	harness.Full(t)
	seed := uint64(setting(t, "PINION_CHAOS_SEED", defaultSeed))
	for _, sc := range []scene{
		{name: "one", model: "Plain", slots: 1, workers: 1, faults: harness.Soak(1500, 24)},
		{name: "streams", model: "Stream", slots: 1, workers: 3, streams: true, faults: harness.Soak(1500, 32)},
		{name: "tasks", model: "Tasks", slots: 4, workers: 2, faults: harness.Soak(1500, 26)},
		{name: "task streams", model: "TaskStream", slots: 4, workers: 2, streams: true, faults: harness.Soak(1500, 26)},
		// A slot of these has up to `batch` predictions: a worker's death may set back that many in each slot, and may
		// cost one.
		{name: "batch", model: "Batched", slots: 1, workers: 2, batch: 8, faults: harness.Soak(1500, 23)},
		{name: "task batch", model: "BatchedTasks", slots: 1, workers: 2, batch: 8, faults: harness.Soak(1500, 14)},
		{name: "batch stages", model: "Around", slots: 1, workers: 2, batch: 8, around: true, faults: harness.Soak(1500, 16)},
	} {
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel() // most of the time a client waits for a worker
			t.Logf("seed %d", seed)
			g := newRig(t, sc, seed)
			before := g.measure() // idle: later on there are goroutines that wait 10 s for another connection
			g.round(0, nil)
			plan := planned(source(seed, len(sc.name)), setting(t, "PINION_CHAOS_FAULTS", sc.faults), g.faults())
			for round := 1; len(plan) > 0 && !t.Failed(); round++ {
				n := min(roundSize, len(plan))
				g.round(round, plan[:n])
				plan = plan[n:]
			}
			if !t.Failed() {
				g.nothingIsLeft(before)
			}
		})
	}
}

// setting returns a number from the environment.
func setting(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("read %s: got %v, want no error", name, err)
	}
	return n
}
