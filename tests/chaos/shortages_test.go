package chaos

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// mostAtRest is what a server may hold for its clients when all are answered: ended predictions, in bytes.
const mostAtRest = 4 << 20

// shortage is something that keeps a server from having a worker, for a while.
type shortage struct {
	name string
	// begin causes the shortage. end is nil if it ends by itself.
	begin func(t *testing.T, s *harness.Server) (end func())
	wrap  []string // a command that becomes the server
	alone bool     // no other client is served while begin runs
}

// shortages returns the shortages that can be made here.
func shortages(t *testing.T) []shortage {
	list := []shortage{
		{"descriptors", func(t *testing.T, s *harness.Server) func() {
			end := harness.EndDescriptors(t, s.PID)
			harness.SendSignal(t, s.Worker(), syscall.SIGKILL)
			return end
		}, nil, false},
		{"crashes", crashes, nil, true},
	}
	if limit, enter, ok := harness.ProcessGroup(t); ok {
		setLimit(t, limit, "1000") // the server counts on it from its start on
		list = append(list, shortage{"processes", func(t *testing.T, s *harness.Server) func() {
			now, err := strconv.Atoi(strings.TrimSpace(harness.ReadFile(t, filepath.Join(filepath.Dir(limit), "pids.current"))))
			assert.NoError(t, err)
			worker := s.Worker()
			threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", worker)) // a fixed pattern
			setLimit(t, limit, strconv.Itoa(now-len(threads)))
			harness.SendSignal(t, worker, syscall.SIGKILL)
			return func() { setLimit(t, limit, "max") }
		}, enter, false})
	} else {
		t.Log("no control group can be made: processes are never short")
	}
	return list
}

func setLimit(t *testing.T, file, value string) {
	t.Helper()
	assert.NoError(t, os.WriteFile(file, []byte(value), 0))
}

// crashes crashes workers until the server starts none for a while. No other client has a success meanwhile.
func crashes(t *testing.T, s *harness.Server) func() {
	const tripped = "workers die too often: the server takes no predictions until a worker is tried again"
	assert.Eventually(t, "the server starts no worker", func() bool {
		a := s.Input(map[string]any{"token": "crash", "do": "abort"})
		if a.Err != nil || !excusable(a) {
			t.Errorf("got %s, want that the worker has died", a)
		}
		return s.Log.Count(tripped) > 0
	})
	return nil
}

// TestShortages_AreOutlived: something runs short while clients are served, and a worker ends. As soon as there is
// enough again, there is a worker, everyone is answered, and the server holds no more than before.
func TestShortages_AreOutlived(t *testing.T) {
	harness.Full(t)
	t.Parallel()
	for _, c := range shortages(t) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := harness.Ready(t, harness.Options{
				Model: "chaos.py:Plain", Wrap: c.wrap,
				Args: []string{"--queue", "100", "--memory-budget", "64MiB"},
			})
			l := beginLoad(t, s)
			l.more(5 * honest)
			before := harness.Descriptors(t, s.PID)
			l.enter("short of workers", true)
			if c.alone {
				l.end()
			}
			end := c.begin(t, s)
			if c.alone {
				l = beginLoad(t, s)
				l.enter("short of workers", true)
			}
			assert.Eventually(t, "the server waits before it starts a worker", func() bool {
				h := s.Health()
				return h.Workers[0].NextStart != "" && h.Workers[0].LastExit != ""
			})
			harness.WantCode(t, "/livez", s.Do("GET", "/livez", nil), 200)
			if end != nil {
				assert.Eventually(t, "several starts have failed", func() bool { return l.failedStarts(s) >= 3 })
				end()
			}
			s.WaitHealth("READY")
			l.more(1) // what came during the shortage is answered
			l.enter("with a worker again", false)
			l.more(5 * honest)
			l.end()
			assert.Eventually(t, "the server holds what it held", func() bool {
				used, _, _ := harness.MemoryBudget(t, s)
				return used <= mostAtRest && harness.Descriptors(t, s.PID) <= before+extraDescriptors
			})
		})
	}
}

// failedStarts returns how many workers the server could not start, or lost before they were ready.
func (l *load) failedStarts(s *harness.Server) int {
	return s.Log.Count("worker not started: the server tries again") + s.Log.Count("worker ended") - 1
}
