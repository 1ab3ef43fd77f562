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

// CPUPressure returns a function that reads for how long, in total, threads have waited for a CPU. It sums the kernel's
// pressure stall information, of this process's control group or else of the machine, and the time that the host of a
// virtual machine gave to others. false means the kernel does not say.
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

// someStalled returns the time in which at least one thread waited (Documentation/accounting/psi.rst of the kernel).
func someStalled(name string) (time.Duration, bool) {
	text, _ := os.ReadFile(name) // false if there is none
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

// stolen returns the time, summed over CPUs, in which the host ran others instead (proc_stat(5)).
func stolen(name string) time.Duration {
	text, _ := os.ReadFile(name) // 0 if there is none
	line, _, _ := strings.Cut(string(text), "\n")
	// cpu user nice system idle iowait irq softirq steal …
	if fields := strings.Fields(line); len(fields) > 8 && fields[0] == "cpu" {
		ticks, _ := strconv.ParseInt(fields[8], 10, 64)
		return time.Duration(ticks) * userTick
	}
	return 0
}
