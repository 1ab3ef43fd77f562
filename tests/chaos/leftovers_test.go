package chaos

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"pinion/tests/harness"
)

// measures is what must not grow.
type measures struct {
	descriptors, threads, goroutines, pages int // of the front; pages: shared with workers
	// its threads that wait for something else than work: in which system calls
	waiting            []string
	processes, zombies int
	open               map[string]int // the front's descriptors, by kind
	resident           int
	files              []string // their names without digits
}

var (
	goroutines = regexp.MustCompile(`(?m)^go_goroutines ([0-9]+)$`)
	digits     = regexp.MustCompile(`[0-9]+`)
)

// descriptors returns what the front has open, by kind.
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

// threads counts the front's, and names the system calls of those that Go's scheduler has not put aside for later. Go
// starts another for each that has lost its CPU within a system call, and none goes again, so that the first figure
// tells also how busy the machine was: where a dozen processes shared two CPUs, all 12 threads of a front were seen to
// wait for one.
func (g *rig) threads() (total int, waiting []string) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", g.s.PID)) // a fixed pattern
	for _, task := range tasks {
		line, err := os.ReadFile(filepath.Join(task, "syscall"))
		call, _, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
		switch {
		case errors.Is(err, fs.ErrPermission):
			g.t.Errorf("what the front's threads wait for cannot be read: %v, want another error than fs.ErrPermission", err)
		case err == nil && call != strconv.Itoa(unix.SYS_FUTEX): // else it is put aside, or gone
			waiting = append(waiting, call)
		}
	}
	slices.Sort(waiting)
	return len(tasks), waiting
}

// measure measures the server, which is idle.
func (g *rig) measure() (m measures) {
	g.t.Helper()
	g.s.CloseIdle()
	m.descriptors = harness.Descriptors(g.t, g.s.PID)
	m.open = g.descriptors()
	m.threads, m.waiting = g.threads()
	text := string(g.s.Do(http.MethodGet, "/metrics", nil).Body)
	if found := goroutines.FindStringSubmatch(text); found != nil {
		m.goroutines, _ = strconv.Atoi(found[1]) // digits
	} else {
		g.t.Errorf("got no goroutines in the metrics: %.300s, want non-nil", text)
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
// has no time; a thread that once waited in the kernel stays, put aside.
const (
	extraDescriptors = 2
	extraGoroutines  = 4
	extraThreads     = 12
	extraWaiting     = 2 // the thread that asks for events, and the one that has just answered
)

// extraMemory is how much the front may have grown: by ended predictions that it retains, and by garbage that is not
// collected yet.
const extraMemory = 192 << 20

// nothingIsLeft fails unless the server is as it was.
func (g *rig) nothingIsLeft(before measures) {
	g.t.Helper()
	var m measures
	more := extraGoroutines + harness.Soak(0, 2*width)
	err := until(func() bool {
		m = g.measure()
		return m.descriptors <= before.descriptors+extraDescriptors && m.goroutines <= before.goroutines+more &&
			m.pages <= before.pages &&
			m.processes <= before.processes && m.zombies == 0 && slices.Equal(m.files, before.files) &&
			len(m.waiting) <= len(before.waiting)+extraWaiting
	})
	g.t.Logf("before %+v", before)
	g.t.Logf("after  %+v", m)
	if err != nil {
		g.t.Errorf("got %+v left, want what was before: %+v", m, before)
	}
	if m.threads > before.threads+extraThreads {
		g.t.Errorf("the front has %d threads, and had %d, want at most %d", m.threads, before.threads,
			before.threads+extraThreads)
	}
	if m.resident > before.resident+extraMemory && !harness.Sanitized(g.t) {
		g.t.Errorf("the front has %d MiB, and had %d, want at most %d", m.resident>>20, before.resident>>20,
			before.resident+extraMemory)
	}
}
