package main

import "fmt"

// An outcome is how one test ended.
type outcome int

const (
	passed outcome = iota
	failed
	flaky // failed, then passed when it was run once more
	skipped
)

// A result is one test that counts: a leaf, or a failure that no leaf accounts for.
type result struct {
	name    string
	outcome outcome
	output  string // what it printed; kept for failures and flakes only
}

// A tally counts results.
type tally struct{ passed, failed, flaky, skipped int }

// add counts the results.
func (t *tally) add(results []result) {
	for _, r := range results {
		switch r.outcome {
		case passed:
			t.passed++
		case failed:
			t.failed++
		case flaky:
			t.flaky++
		case skipped:
			t.skipped++
		}
	}
}

// String is the summary line. A flake has passed in the end.
func (t tally) String() string {
	line := fmt.Sprintf("%d passed, %d failed", t.passed+t.flaky, t.failed)
	if t.skipped > 0 {
		line += fmt.Sprintf(", %d skipped", t.skipped)
	}
	return line
}
