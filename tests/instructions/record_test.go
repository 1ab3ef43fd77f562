package instructions

import (
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"pinion/tests/assert"
)

// recordFile has a line for each build of CPython: its name, then the counts in the order of cases.
const recordFile = "recorded.txt"

const heading = `# Instructions that a worker spends on a request, as doc.go says; written by PINION_RECORD=1 ./build.sh instructions.
`

// record is what recordFile says. Tests of several Pythons use it at once.
type record struct {
	mu     sync.Mutex
	builds map[string]map[string]int
}

func readRecord(t *testing.T) *record {
	t.Helper()
	text, err := os.ReadFile(recordFile)
	assert.NoError(t, err)
	r := &record{builds: map[string]map[string]int{}}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] == "#" || fields[0] == "build" {
			continue
		}
		if len(fields) != 1+len(cases) {
			if os.Getenv(envRecord) == "1" {
				continue // of before there were these cases
			}
			t.Fatalf("%s: %q has not a name and %d counts: got %d, want %d", recordFile, line, len(cases), len(fields),
				1+len(cases))
		}
		counts := map[string]int{}
		for i, name := range cases {
			counts[name], err = strconv.Atoi(fields[1+i])
			assert.NoError(t, err, recordFile)
		}
		r.builds[fields[0]] = counts
	}
	return r
}

// nearest returns the recorded build that shares most with this one, and its counts; nil means nothing is recorded.
func (r *record) nearest(build string) (name string, counts map[string]int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	best := math.MinInt
	for _, candidate := range slices.Sorted(maps.Keys(r.builds)) {
		if likeness := alike(build, candidate); likeness > best {
			name, best = candidate, likeness
		}
	}
	return name, r.builds[name]
}

// alike measures how much two builds share. The minor version of Python counts most: each has its own interpreter.
func alike(a, b string) int {
	as, bs := strings.Split(a, ","), strings.Split(b, ",")
	likeness := -100 * max(minorOf(a)-minorOf(b), minorOf(b)-minorOf(a))
	for i := range min(len(as), len(bs)) {
		if as[i] == bs[i] {
			likeness++
		}
	}
	return likeness
}

func minorOf(build string) int {
	_, version, _ := strings.Cut(build, ".")
	minor, _, _ := strings.Cut(version, ".")
	n, _ := strconv.Atoi(minor)
	return n
}

// TestRecord_NearestBuild: another compiler's build of the same Python, else the nearest version.
func TestRecord_NearestBuild(t *testing.T) {
	r := record{builds: map[string]map[string]int{
		"3.10.13,x86_64,gcc-12.2.0,glibc-2.36,plain,ours-gcc-12.2.0": {"echo": 1},
		"3.12.1,x86_64,gcc-12.2.0,glibc-2.36,plain,ours-gcc-12.2.0":  {"echo": 2},
		"3.12.1,x86_64,gcc-12.2.0,glibc-2.36,pgo,ours-gcc-12.2.0":    {"echo": 3},
	}}
	for build, want := range map[string]int{
		"3.10.13,x86_64,gcc-12.2.0,glibc-2.36,plain,ours-gcc-12.2.0": 1,
		"3.10.2,x86_64,clang-17,glibc-2.39,pgo,ours-gcc-14.1.0":      1,
		"3.12.9,x86_64,gcc-13.1.0,glibc-2.36,pgo,ours-gcc-13.1.0":    3,
		"3.14.0,x86_64,gcc-12.2.0,glibc-2.36,plain,ours-gcc-12.2.0":  2,
		"3.12.1,aarch64,gcc-12.2.0,glibc-2.36,pgo,ours-gcc-12.2.0":   3,
	} {
		_, counts := r.nearest(build)
		assert.True(t, counts["echo"] == want, "%s is compared with %v, want %d", build, counts, want)
	}
}

func (r *record) set(build string, counts map[string]int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.builds[build] = counts
}

func (r *record) write(t *testing.T) {
	t.Helper()
	var text strings.Builder
	text.WriteString(heading)
	row := func(name string, cells ...any) {
		fmt.Fprintf(&text, "%-66s", name)
		for _, cell := range cells {
			fmt.Fprintf(&text, " %13v", cell)
		}
		text.WriteByte('\n')
	}
	var names []any
	for _, name := range cases {
		names = append(names, name)
	}
	row("build", names...)
	for _, build := range slices.Sorted(maps.Keys(r.builds)) {
		var cells []any
		for _, name := range cases {
			cells = append(cells, r.builds[build][name])
		}
		row(build, cells...)
	}
	assert.NoError(t, os.WriteFile(recordFile, []byte(text.String()), 0o644))
}
