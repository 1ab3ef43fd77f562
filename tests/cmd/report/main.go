package main

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// maxFlakes is how many flakes a run may have. More of them are a fault of the tests or of the product.
const maxFlakes = 5

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: report DIR [SUITE...]")
		os.Exit(2)
	}
	ok, err := report(os.Stdout, os.Args[1], os.Args[2:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

// report prints about the named suites or, with none named, about all of them with the summary line last. It
// returns false if a test failed, too many were flaky, or none ran.
func report(w io.Writer, dir string, names []string) (bool, error) {
	whole := len(names) == 0
	if whole {
		var err error
		if names, err = suiteNames(dir); err != nil {
			return false, err
		}
	}
	var total tally
	for _, name := range names {
		s := readSuite(dir, name)
		total.add(s.results)
		if !whole {
			printSuite(w, s)
			printFailures(w, s, true)
		} else {
			printFailures(w, s, false)
		}
	}
	if whole {
		if total.flaky > maxFlakes {
			fmt.Fprintf(w, "FAILED: %d tests are flaky; at most %d may be\n", total.flaky, maxFlakes)
		}
		fmt.Fprintln(w, total)
	}
	return total.failed == 0 && total.flaky <= maxFlakes && total.passed+total.flaky > 0, nil
}

// printSuite prints one line about a suite.
func printSuite(w io.Writer, s suite) {
	var t tally
	t.add(s.results)
	fmt.Fprintf(w, "%-28s %s (%d s)\n", s.name, t, s.seconds)
}

// printFailures names what failed or was flaky in a suite, and shows what it printed where that is asked for.
func printFailures(w io.Writer, s suite, withOutput bool) {
	for _, r := range s.results {
		switch r.outcome {
		case failed:
			fmt.Fprintf(w, "FAILED %s: %s\n", s.name, r.name)
		case flaky:
			fmt.Fprintf(w, "FLAKE %s: %s (failed, then passed when run once more)\n", s.name, r.name)
		default:
			continue
		}
		if withOutput {
			for line := range strings.Lines(strings.TrimRight(r.output, "\n") + "\n") {
				fmt.Fprint(w, "    ", line)
			}
		}
	}
}
