package main

import (
	"bytes"
	"cmp"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"pinion/tests/assert"
)

// smallInit is how many allocations the initialisation of a package may make without being recorded.
const smallInit = 16

// initMargin is by how much the allocations of an initialisation differ from run to run.
const initMargin = 8

var initTrace = regexp.MustCompile(`(?m)^init (\S+) @.* (\d+) allocs$`)

// TestFootprint_Start counts what every process of the binary does before main: how many packages are initialised, and
// which of them allocate how much; and its size. All are paid by the front and by each worker, whether they need the
// package or not.
func TestFootprint_Start(t *testing.T) {
	binary := os.Getenv("PINION_BIN")
	if binary == "" || runtime.GOARCH != "amd64" {
		t.Skip("PINION_BIN names no binary for amd64, whose counts are recorded")
	}
	info := assert.Must(os.Stat(binary))(t)
	packages := initAllocations(t, binary)
	for range 4 { // maps and pools differ a little from run to run: the least counts
		for name, n := range initAllocations(t, binary) {
			packages[name] = min(packages[name], n)
		}
	}
	total := 0
	var got record
	for name, n := range packages {
		total += n
		if n > smallInit {
			got = append(got, count{"allocations of " + name, n, initMargin})
		}
	}
	slices.SortFunc(got, func(a, b count) int { return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.name, b.name)) })
	got = append(record{
		{"units of 100 kB, the binary's size", int(info.Size() / 100_000), 2},
		{"packages with an initialisation", len(packages), 0},
		{"allocations of all packages", total, 2 * initMargin},
	}, got...)
	got.compare(t, "testdata/start.txt", smallInit)
}

// initAllocations returns the allocations of each package that a binary initialises.
func initAllocations(t *testing.T, binary string) map[string]int {
	t.Helper()
	cmd := exec.Command(binary, "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	var trace bytes.Buffer
	cmd.Stderr = &trace
	assert.NoError(t, cmd.Run())
	packages := map[string]int{}
	for _, p := range initTrace.FindAllStringSubmatch(trace.String(), -1) {
		n := assert.Must(strconv.Atoi(p[2]))(t)
		packages[p[1]] = n
	}
	if len(packages) == 0 {
		t.Fatalf("got no trace of the initialisation: %s, want at least one", trace.String())
	}
	return packages
}
