package instructions

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
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
	if err != nil {
		t.Fatal(err)
	}
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
			t.Fatalf("%s: %q has not a name and %d counts", recordFile, line, len(cases))
		}
		counts := map[string]int{}
		for i, name := range cases {
			if counts[name], err = strconv.Atoi(fields[1+i]); err != nil {
				t.Fatalf("%s: %v", recordFile, err)
			}
		}
		r.builds[fields[0]] = counts
	}
	return r
}

// of gives the counts of a build; nil where there are none.
func (r *record) of(build string) map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.builds[build]
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
			fmt.Fprintf(&text, " %12v", cell)
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
	if err := os.WriteFile(recordFile, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
