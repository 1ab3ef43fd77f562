package chaos

import (
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"pinion/tests/harness"
)

// measures are what must not grow.
type measures struct {
	descriptors, threads, goroutines, pages int // of the front; pages: shared with workers
	processes, zombies                      int
	open                                    map[string]int // the front's descriptors, by kind
	resident                                int
	files                                   []string // their names without digits
}

var (
	goroutines = regexp.MustCompile(`(?m)^go_goroutines ([0-9]+)$`)
	digits     = regexp.MustCompile(`[0-9]+`)
)

// descriptors are what the front has open, by kind.
func (g *rig) descriptors() map[string]int {
	kinds := map[string]int{}
	links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", g.s.PID)) // a fixed pattern
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil {
			kinds[digits.ReplaceAllString(to, "#")]++
		}
	}
	return kinds
}

// measure looks at the server, which rests.
func (g *rig) measure() (m measures) {
	g.t.Helper()
	g.s.CloseIdle()
	m.descriptors = harness.Descriptors(g.t, g.s.PID)
	m.open = g.descriptors()
	if tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", g.s.PID)); err == nil {
		m.threads = len(tasks)
	}
	text := string(g.s.Do(http.MethodGet, "/metrics", nil).Body)
	if found := goroutines.FindStringSubmatch(text); found != nil {
		m.goroutines, _ = strconv.Atoi(found[1]) // digits
	} else {
		g.t.Errorf("no goroutines in the metrics: %.300s", text)
	}
	m.pages = strings.Count(harness.Maps(g.t, g.s.PID), "memfd:")
	m.processes, m.zombies = len(g.s.Processes()), len(harness.Zombies(g.s))
	m.resident = harness.Resident(g.t, g.s.PID)
	_ = filepath.WalkDir(g.tmp(), func(path string, _ fs.DirEntry, err error) error {
		if err == nil { // else it went meanwhile
			m.files = append(m.files, digits.ReplaceAllString(strings.TrimPrefix(path, g.tmp()), "#"))
		}
		return nil
	})
	slices.Sort(m.files)
	return m
}

// By how much the front may have more than before, when it had just started. Some of its goroutines, and what they have
// open, come with the first request of their kind; fasthttp's wait 10 s for another connection, for which the short run
// has no time; a thread that once waited in the kernel stays.
const (
	slackDescriptors = 2
	slackGoroutines  = 4
	slackThreads     = 12
)

// slackMemory is how much the front may have grown: what it keeps of ended predictions, and its collector's breathing.
const slackMemory = 192 << 20

// nothingIsLeft fails unless the server is as it was.
func (g *rig) nothingIsLeft(before measures) {
	g.t.Helper()
	var m measures
	more := slackGoroutines + harness.Soak(0, 2*width)
	err := until(func() bool {
		m = g.measure()
		return m.descriptors <= before.descriptors+slackDescriptors && m.goroutines <= before.goroutines+more && m.pages <= before.pages &&
			m.processes <= before.processes && m.zombies == 0 && slices.Equal(m.files, before.files)
	})
	g.t.Logf("before %+v", before)
	g.t.Logf("after  %+v", m)
	if err != nil {
		g.t.Errorf("something is left: %+v, and before it was %+v", m, before)
	}
	if m.threads > before.threads+slackThreads {
		g.t.Errorf("the front has %d threads, and had %d", m.threads, before.threads)
	}
	if m.resident > before.resident+slackMemory && !harness.Sanitized(g.t) {
		g.t.Errorf("the front has %d MiB, and had %d", m.resident>>20, before.resident>>20)
	}
}
