package supervise

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// userTick is the unit of /proc/stat's times: USER_HZ is 100 wherever Go runs.
const userTick = 10 * time.Millisecond

// CPUPressure finds what tells for how long, ever, something has waited for a CPU that another had: the kernel's pressure stall
// information, of this process's control group where there is one, else of the machine, and, where the machine is a virtual
// one, what its host gave to others. The function that it returns reads them; false: the kernel does not tell.
func CPUPressure() func() (time.Duration, bool) { return cpuPressure("/") }

func cpuPressure(root string) func() (time.Duration, bool) {
	name := filepath.Join(root, "proc/pressure/cpu")
	if g := findGroup(root, "cpu"); g.v2 {
		if own := filepath.Join(g.folder, "cpu.pressure"); readable(own) {
			name = own
		}
	}
	stat := filepath.Join(root, "proc/stat")
	return func() (time.Duration, bool) {
		stalled, ok := someStalled(name)
		return stalled + stolen(stat), ok
	}
}

func readable(name string) bool {
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	f.Close()
	return true
}

// someStalled is the time in which at least one thread waited, as the kernel's Documentation/accounting/psi.rst has it.
func someStalled(name string) (time.Duration, bool) {
	text, _ := os.ReadFile(name) // without it nothing is told
	for line := range strings.Lines(string(text)) {
		rest, some := strings.CutPrefix(line, "some ")
		_, total, _ := strings.Cut(rest, " total=")
		us, err := strconv.ParseInt(strings.TrimSpace(total), 10, 64)
		if some && err == nil {
			return time.Duration(us) * time.Microsecond, true
		}
	}
	return 0, false
}

// stolen is the time, of all CPUs together, for which they were ready to run and their host let others (proc_stat(5)).
func stolen(name string) time.Duration {
	text, _ := os.ReadFile(name) // without it there is none
	line, _, _ := strings.Cut(string(text), "\n")
	// cpu user nice system idle iowait irq softirq steal …
	if fields := strings.Fields(line); len(fields) > 8 && fields[0] == "cpu" {
		ticks, _ := strconv.ParseInt(fields[8], 10, 64)
		return time.Duration(ticks) * userTick
	}
	return 0
}
