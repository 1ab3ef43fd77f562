package docs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestBenchmark_KeepsItsFigures runs the tests of the program that keeps what bench/run.sh measured.
func TestBenchmark_KeepsItsFigures(t *testing.T) {
	t.Parallel()
	run := exec.Command(harness.AnyPython(t).Path, "-B", "-m", "unittest", "discover", "lib", "-t", ".")
	run.Dir = "../bench"
	out, err := run.CombinedOutput()
	assert.TrueNow(t, err == nil && regexp.MustCompile(`(?m)^Ran [1-9]`).Match(out),
		"%v: %s, want a match of %s", err, out, `(?m)^Ran [1-9]`)
}

// TestBenchmarks_PageOfBenchmarksNamesRowsThatExist holds each command of the page to the rows that there are, and each
// row to the page.
func TestBenchmarks_PageOfBenchmarksNamesRowsThatExist(t *testing.T) {
	t.Parallel()
	page := harness.ReadFile(t, "../docs/reference/benchmarks.md")
	program := `import sys; sys.path.insert(0, "../bench"); from lib.rows import ALL; print(*ALL)`
	out := assert.Must(exec.Command(harness.AnyPython(t).Path, "-B", "-c", program).Output())(t)
	shown := regexp.MustCompile(`(?m)^    bench/run\.sh --rows (\S+)$`).FindAllStringSubmatch(page, -1)
	rows := map[string]bool{}
	for _, row := range strings.Fields(string(out)) {
		rows[row] = false
	}
	for _, m := range shown {
		if _, ok := rows[string(m[1])]; !ok {
			t.Errorf("the page tells to run the row %s, which there is not", m[1])
		}
		rows[string(m[1])] = true
	}
	for row, there := range rows {
		assert.True(t, there, "the page has nothing on the row %s", row)
	}
}

// TestBenchmark_EndedLeavesNoServer ends a benchmark by SIGTERM while it measures a server.
func TestBenchmark_EndedLeavesNoServer(t *testing.T) {
	t.Parallel()
	python := harness.AnyPython(t).Path
	bench := exec.Command(python, "-B", "../bench/recover.py", "--python", python, "--pinion", harness.Binary(t),
		"--kills", "1000000")
	bench.WaitDelay = time.Minute // a server that is left keeps the pipe
	bench.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
	var said bytes.Buffer
	bench.Stdout, bench.Stderr = &said, &said
	assert.NoError(t, bench.Start())
	var servers, workers []int
	assert.Eventually(t, "the benchmark has a server with a worker", func() bool {
		servers, workers = children(bench.Process.Pid), nil
		for _, pid := range servers {
			workers = append(workers, children(pid)...)
		}
		return len(workers) > 0
	})
	assert.NoError(t, bench.Process.Signal(syscall.SIGTERM))
	var ended *exec.ExitError
	if err := bench.Wait(); !errors.As(err, &ended) || ended.ExitCode() != 128+int(syscall.SIGTERM) {
		t.Errorf("got %v, want exit status 143: %s", err, said.String())
	}
	for _, pid := range append(servers, workers...) {
		assert.ErrorIs(t, fmt.Sprintf("process %d", pid), syscall.Kill(pid, 0), syscall.ESRCH)
	}
}

// children are the processes that a process has started.
func children(parent int) (pids []int) {
	files, _ := filepath.Glob(filepath.Join("/proc", strconv.Itoa(parent), "task/*/children"))
	for _, file := range files {
		text, _ := os.ReadFile(file) // none: the thread has ended
		for _, word := range strings.Fields(string(text)) {
			if pid, err := strconv.Atoi(word); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}
