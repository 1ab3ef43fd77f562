package metrics

import (
	"bytes"
	"os"
	"strconv"
	"strings"
)

// userHz is the unit of times in /proc/PID/stat, per second. The kernel fixes it for user space.
const userHz = 100

// process is a process's state in /proc.
type process struct {
	ok                bool
	cpu               float64 // seconds
	resident, virtual float64 // bytes
	started           float64 // seconds after boot
}

// readProcess reads a process by its number, or "self". Without the process, or /proc, it is not ok.
func readProcess(pid string) (p process) {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return p
	}
	// proc_pid_stat(5): pid (name) state … ; the name may have any characters. From the state on, counted from 0:
	// 11 utime, 12 stime, 19 starttime, 20 vsize, 21 rss in pages.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 22 {
		return p
	}
	number := func(i int) float64 {
		n, _ := strconv.ParseFloat(fields[i], 64) // the kernel writes numbers
		return n
	}
	return process{
		ok:       true,
		cpu:      (number(11) + number(12)) / userHz,
		started:  number(19) / userHz,
		virtual:  number(20),
		resident: number(21) * float64(os.Getpagesize()),
	}
}

// bootTime returns when the machine was started, in seconds since 1970; 0 if unknown.
func bootTime() float64 {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "\nbtime ")
	line, _, _ := strings.Cut(rest, "\n")
	n, _ := strconv.ParseFloat(line, 64) // 0 if it is not a number
	return n
}

// descriptors returns how many files this process has open, and its limit; false means unknown.
func descriptors() (open, most float64, ok bool) {
	folder, err := os.Open("/proc/self/fd")
	if err != nil {
		return 0, 0, false
	}
	names, err := folder.Readdirnames(-1)
	folder.Close()
	limits, err2 := os.ReadFile("/proc/self/limits")
	if err != nil || err2 != nil {
		return 0, 0, false
	}
	_, rest, _ := strings.Cut(string(limits), "\nMax open files")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return 0, 0, false
	}
	most, err = strconv.ParseFloat(fields[0], 64)    // the soft limit
	return float64(len(names) - 1), most, err == nil // without the descriptor of the folder
}

func gatherProcess(g *gathered) {
	self := readProcess("self")
	if !self.ok {
		return
	}
	g.family("process_cpu_seconds_total", Counter, "CPU time of this process, in seconds.")
	g.value(self.cpu)
	if open, most, ok := descriptors(); ok {
		g.gauge("process_max_fds", "Limit of open file descriptors.", most)
		g.gauge("process_open_fds", "Open file descriptors.", open)
	}
	g.gauge("process_resident_memory_bytes", "Resident memory, in bytes.", self.resident)
	if boot := bootTime(); boot > 0 {
		g.gauge("process_start_time_seconds", "Start time of this process, in seconds since 1970.", boot+self.started)
	}
	g.gauge("process_virtual_memory_bytes", "Virtual memory, in bytes.", self.virtual)
}
