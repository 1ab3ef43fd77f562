package workers

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

// pidsGroup is a control group that limits threads and processes.
type pidsGroup struct {
	t      *testing.T
	folder string
}

// enterPidsGroup makes a group, and a command that enters it before it becomes another. Where none can be made, as by
// most users and in most containers, the test is skipped.
func enterPidsGroup(t *testing.T) (g pidsGroup, enter []string) {
	t.Helper()
	for _, root := range []string{"/sys/fs/cgroup/pids", "/sys/fs/cgroup"} {
		folder, err := os.MkdirTemp(root, "pinion-test-")
		if err != nil {
			continue
		}
		t.Cleanup(func() { assert.Eventually(t, "the group is empty", func() bool { return os.Remove(folder) == nil }) })
		if _, err := os.Stat(filepath.Join(folder, "pids.max")); err == nil {
			g = pidsGroup{t, folder}
			g.limit("1000") // one that is not a limit yet
			return g, []string{"sh", "-c", `echo $$ >"$0"/cgroup.procs && exec "$@"`, folder}
		}
	}
	t.Skip("no control group for processes can be made here")
	return g, nil
}

// limit sets how many threads the group may have; a group may have more already.
func (g pidsGroup) limit(n string) {
	g.t.Helper()
	assert.NoError(g.t, os.WriteFile(filepath.Join(g.folder, "pids.max"), []byte(n), 0))
}

// threadsOf returns how many threads a process has.
func threadsOf(t *testing.T, pid int) int {
	t.Helper()
	tasks := assert.Must(os.ReadDir(fmt.Sprintf("/proc/%d/task", pid)))(t)
	return len(tasks)
}

func (g pidsGroup) current() int {
	g.t.Helper()
	n, err := strconv.Atoi(strings.TrimSpace(harness.ReadFile(g.t, filepath.Join(g.folder, "pids.current"))))
	assert.NoError(g.t, err)
	return n
}

// waitShort waits until the server waits for the end of the shortage, and checks what it says meanwhile.
func waitShort(t *testing.T, s *harness.Server) {
	t.Helper()
	harness.WaitShortage(t, s, "")
	restarts := s.Health().Workers[0].Restarts
	assert.True(t, restarts <= 1, "got %d restarts during the shortage, want none counted", restarts)
}

// TestShortageOfThreads_IsWaitedOut: a worker that the kernel lets start, and then make no threads, has not died by its
// model. Each case leaves room for so many threads beside those of the server and the worker before.
func TestShortageOfThreads_IsWaitedOut(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args    []string
		room    int
		threads string
	}{
		"the process":             {nil, 0, "0"},
		"threads of the runtime":  {nil, 2, "0"},
		"threads of the worker":   {nil, 5, "0"},
		"threads of setup":        {nil, 15, "40"},
		"a fork":                  {[]string{"--preload"}, 0, "0"},
		"a fork after setup":      {[]string{"--preload=setup"}, 0, "0"},
		"threads of a fork":       {[]string{"--preload"}, 2, "0"},
		"threads of a fork setup": {[]string{"--preload"}, 15, "40"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, enter := enterPidsGroup(t)
			s := harness.Ready(t, harness.Options{
				Model: "threads_in_setup.py", Args: append(c.args, "--queue", "5"), Wrap: enter,
				Env: []string{"THREADS=" + c.threads},
			})
			s.Succeed(harness.Input{})
			g.limit(strconv.Itoa(g.current() - threadsOf(t, s.Worker()) + c.room))
			harness.SendSignal(t, s.Worker(), syscall.SIGKILL)
			waitShort(t, s)
			g.limit("max")
			s.WaitHealth("READY")
			s.Succeed(harness.Input{})
		})
	}
}

func TestShortageOfThreads_OfFirstSetupIsWaitedOut(t *testing.T) {
	t.Parallel()
	g, enter := enterPidsGroup(t)
	g.limit("60")
	s := harness.Start(t, harness.Options{Model: "threads_in_setup.py", Wrap: enter, Env: []string{"THREADS=80"}})
	waitShort(t, s)
	g.limit("max")
	s.WaitHealth("READY")
	s.Succeed(harness.Input{})
}
