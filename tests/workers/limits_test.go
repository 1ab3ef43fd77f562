package workers

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestLimits_CPULimitBoundsFrontsThreads where control groups can be made, from the start and as it changes. Go rounds
// up, and by itself does not go below 2. A limit shows only where there are more CPUs.
func TestLimits_CPULimitBoundsFrontsThreads(t *testing.T) {
	t.Parallel()
	cpus := runtime.NumCPU()
	for _, c := range []struct{ millis, want int }{{3000, 3}, {2500, 3}, {2000, 2}, {1000, 2}, {500, 2}} {
		t.Run(fmt.Sprintf("%d thousandths of a CPU", c.millis), func(t *testing.T) {
			t.Parallel()
			if cpus <= c.want {
				t.Skipf("there are only %d CPUs", cpus)
			}
			group := newCPUGroup(t, c.millis)
			s := harness.Ready(t, harness.Options{Dir: harness.NewFolder(t, "run.py", gated), Wrap: group.enter()})
			threads := func() int { return int(harness.Scrape(t, s).Value("go_sched_gomaxprocs_threads")) }
			assert.EqualNow(t, "threads of the front", threads(), c.want)
			assert.NoError(t, group.limit(0))
			assert.Eventually(t, "without a limit the front uses all CPUs", func() bool { return threads() == cpus })
			assert.NoError(t, group.limit(c.millis))
			assert.Eventually(t, "the front heeds a limit set while it runs", func() bool { return threads() == c.want })
		})
	}
}

// TestLimits_MemoryLimitIsFrontsSoftLimit where control groups can be made: half of it is the front's.
func TestLimits_MemoryLimitIsFrontsSoftLimit(t *testing.T) {
	t.Parallel()
	const limit = 1 << 30
	enter := harness.NeedMemoryGroup(t, limit)
	s := harness.Ready(t, harness.Options{
		Dir: harness.NewFolder(t, "run.py", gated), Wrap: enter, Args: []string{"--log-level", "debug"},
	})
	assert.Contains(t, fmt.Sprintf("half of %d", limit), s.WaitLog("the front's memory has a soft limit").Raw,
		fmt.Sprintf(`"bytes":%d`, limit/2))
}

// cpuGroup is a control group that limits CPU time.
type cpuGroup struct {
	folder, quota string
	none          string // what quota holds where there is no limit
	period        string // what follows a limit in it
}

// newCPUGroup makes one of so many thousandths of a CPU. A group around it may not have as much to give.
func newCPUGroup(t *testing.T, millis int) cpuGroup {
	t.Helper()
	for _, g := range []cpuGroup{
		{folder: "/sys/fs/cgroup/cpu", quota: "cpu.cfs_quota_us", none: "-1"},
		{folder: "/sys/fs/cgroup", quota: "cpu.max", none: "max", period: " 100000"},
	} {
		var err error
		if g.folder, err = os.MkdirTemp(g.folder, "pinion-test-cpu-"); err != nil {
			continue
		}
		t.Cleanup(func() { // the last process may still be on its way out
			assert.Eventually(t, "the control group can go", func() bool { return os.Remove(g.folder) == nil })
		})
		if g.limit(millis) == nil {
			return g
		}
	}
	t.Skip("no control group can be made here")
	return cpuGroup{}
}

// limit sets how many thousandths of a CPU there are; 0 means all.
func (g cpuGroup) limit(millis int) error {
	text := g.none
	if millis > 0 {
		text = strconv.Itoa(millis*100) + g.period // µs of each 100,000, which is the usual period
	}
	file, err := os.OpenFile(filepath.Join(g.folder, g.quota), os.O_WRONLY, 0) // only what the kernel has put there
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = file.WriteString(text)
	return err
}

// enter is a command that enters it.
func (g cpuGroup) enter() []string {
	return []string{"sh", "-c", `echo $$ >"$0"/cgroup.procs && exec "$@"`, g.folder}
}
