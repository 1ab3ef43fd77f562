package main

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"pinion/cmd/pinion/internal/cli"
	"pinion/tests/assert"
)

// countedFront is the environment variable that makes the test's program a front that counts what it allocates.
const countedFront = "PINION_TEST_COUNTED_FRONT"

// frontMargin is by how much a package's allocations differ from start to start: goroutines take turns. All together
// also differ by what the machine has: its processes, the files of its Python.
const frontMargin, machineMargin = 12, 400

// countedFrontMain serves. When its standard input ends it prints what it has allocated since its start, and stops.
func countedFrontMain(args []string) int {
	runtime.MemProfileRate = 1
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	go func() {
		_, _ = os.Stdin.Read(make([]byte, 1))
		var after runtime.MemStats
		runtime.ReadMemStats(&after)
		fmt.Printf("%d allocations of all packages\n", after.Mallocs-before.Mallocs)
		fmt.Printf("%d units of 10 kB, allocated\n", (after.TotalAlloc-before.TotalAlloc)/10_000)
		fmt.Printf("%d collections\n", after.NumGC-before.NumGC)
		printAllocations()
		_ = syscall.Kill(os.Getpid(), syscall.SIGTERM)
	}()
	return cli.Run(args)
}

// printAllocations prints how many allocations each package has made.
func printAllocations() {
	runtime.GC() // the profile has what was allocated before the last two collections
	runtime.GC()
	records := make([]runtime.MemProfileRecord, 100_000)
	n, _ := runtime.MemProfile(records, true)
	packages := map[string]int64{}
	for _, r := range records[:n] {
		packages[allocatingPackage(r.Stack())] += r.AllocObjects
	}
	for name, n := range packages {
		fmt.Printf("%d allocations of %s\n", n, name)
	}
}

// allocatingPackage returns the package of the innermost function outside Go's runtime.
func allocatingPackage(stack []uintptr) string {
	frames := runtime.CallersFrames(stack)
	for {
		frame, more := frames.Next()
		folder, function := filepath.Split(frame.Function)
		name, _, _ := strings.Cut(function, ".")
		if name = folder + name; name != "runtime" && !strings.HasPrefix(name, "internal/runtime/") {
			return name
		}
		if !more {
			return "runtime"
		}
	}
}

// isStandard reports whether a package is of Go's library, whose allocations depend on the machine.
func isStandard(name string) bool {
	first, _, _ := strings.Cut(name, "/")
	return first != "pinion" && !strings.Contains(first, ".")
}

// TestFootprint_StartOfFront counts what a front allocates until its worker is ready, in all and by package, and how
// often it collects garbage.
func TestFootprint_StartOfFront(t *testing.T) {
	python, _, _ := strings.Cut(os.Getenv("PINION_TEST_PYTHONS"), ":")
	if python == "" {
		t.Skip("PINION_TEST_PYTHONS names no Python")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"run.py": footprintModel, "cog.yaml": "run: run.py:echo\n"} {
		assert.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	startFront(t, dir, python) // the first one may have to write the cog package
	counts := startFront(t, dir, python)
	for range 4 { // other work of the machine can only add: the least counts
		for name, n := range startFront(t, dir, python) {
			counts[name] = min(counts[name], n)
		}
	}
	var got record
	hashes := 0 // of each, however few: one allocation may be the hash of a megabyte
	for name, n := range counts {
		if strings.HasPrefix(name, "allocations of crypto/") {
			hashes += n
		}
		switch {
		case strings.HasPrefix(name, "allocations of all"):
			got = append(got, count{name, n, machineMargin})
		case strings.HasPrefix(name, "units"):
			got = append(got, count{name, n, 30})
		case !strings.HasPrefix(name, "allocations"):
			got = append(got, count{name, n, 0})
		case n > smallInit && !isStandard(strings.TrimPrefix(name, "allocations of ")):
			got = append(got, count{name, n, frontMargin})
		}
	}
	got = append(got, count{"allocations of crypto/*", hashes, 0})
	slices.SortFunc(got, func(a, b count) int { return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.name, b.name)) })
	got.compare(t, "testdata/front.txt", smallInit)
}

// startFront starts a front, waits until its worker is ready, and returns what it has counted.
func startFront(t *testing.T, dir, python string) map[string]int {
	t.Helper()
	front := exec.Command(os.Args[0], "serve", dir, "--host", "unix:"+filepath.Join(dir, "s"), "--python", python)
	// The front reads TMPDIR, and the machine's may have thousands of entries.
	front.Env = append(os.Environ(), countedFront+"=1", "GOMAXPROCS=1", "GOGC=", "TMPDIR="+dir)
	var out bytes.Buffer
	front.Stdout = &out
	stdin, err := front.StdinPipe()
	assert.NoError(t, err)
	stderr := assert.Must(front.StderrPipe())(t)
	assert.NoError(t, front.Start())
	var log strings.Builder
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		log.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), "worker ready") {
			stdin.Close()
		}
	}
	if err := front.Wait(); err != nil {
		t.Fatalf("got %v, want no error: %s", err, log.String())
	}
	counts := map[string]int{}
	for line := range strings.Lines(out.String()) {
		n, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		counts[name], err = strconv.Atoi(n)
		assert.TrueNow(t, err == nil, "got %v, want no error: %s", err, line)
	}
	return counts
}
