package docs

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"pinion/tests/harness"
)

// TestBenchmark_KeepsItsFigures runs the tests of the program that keeps what bench/run.sh measured.
func TestBenchmark_KeepsItsFigures(t *testing.T) {
	t.Parallel()
	run := exec.Command(harness.AnyPython(t).Path, "-B", "-m", "unittest", "discover", "lib", "-t", ".")
	run.Dir = "../bench"
	out, err := run.CombinedOutput()
	if err != nil || !regexp.MustCompile(`(?m)^Ran [1-9]`).Match(out) {
		t.Fatalf("%v: %s, want a match of %s", err, out, `(?m)^Ran [1-9]`)
	}
}

// TestBenchmarks_PageOfBenchmarksNamesRowsThatExist holds each command of the page to the rows that there are, and each
// row to the page.
func TestBenchmarks_PageOfBenchmarksNamesRowsThatExist(t *testing.T) {
	t.Parallel()
	page := harness.ReadFile(t, "../docs/reference/benchmarks.md")
	program := `import sys; sys.path.insert(0, "../bench"); from lib.rows import ALL; print(*ALL)`
	out, err := exec.Command(harness.AnyPython(t).Path, "-B", "-c", program).Output()
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile(`(?m)^    bench/run\.sh --rows (\S+)$`).FindAllStringSubmatch(page, -1)
	rows := map[string]bool{}
	for _, row := range strings.Fields(string(out)) {
		rows[row] = false
	}
	for _, m := range shown {
		if _, ok := rows[string(m[1])]; !ok {
			t.Errorf("the page tells to run the row %s, which there is not: ok = false, want true", m[1])
		}
		rows[string(m[1])] = true
	}
	for row, there := range rows {
		if !there {
			t.Errorf("the page has nothing on the row %s: there = false, want true", row)
		}
	}
}
