package harness

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"pinion/tests/assert"
)

// marked returns the processes whose environment holds this text: a server, its workers, and what these started.
func marked(text string) []int {
	var pids []int
	files, _ := filepath.Glob("/proc/[0-9]*/environ") // a fixed pattern
	for _, file := range files {
		environment, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(environment, []byte(text)) {
			continue // it has ended, or is not ours
		}
		if pid, err := strconv.Atoi(strings.Split(file, "/")[2]); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// Alive reports whether a process is there; a zombie, which only waits to be reaped, is not.
func Alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, after, _ := bytes.Cut(stat, []byte(") "))
	return len(after) > 0 && after[0] != 'Z' && after[0] != 'X'
}

// CommandLine returns how a process was started, for messages.
func CommandLine(pid int) string {
	line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // it may have ended
	return strings.TrimSpace(strings.ReplaceAll(string(line), "\x00", " "))
}

// Group returns the process group of a process.
func Group(t testing.TB, pid int) int {
	t.Helper()
	group, err := syscall.Getpgid(pid)
	assert.NoError(t, err, "read process group of", pid)
	return group
}

// Descriptors returns how many files a process has open.
func Descriptors(t testing.TB, pid int) int {
	t.Helper()
	files := assert.Must(os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid)))(t)
	return len(files)
}

// Resident returns the resident memory of a process in bytes, without what it shares with a file.
func Resident(t testing.TB, pid int) int {
	t.Helper()
	return statusBytes(t, pid, "RssAnon:") + statusBytes(t, pid, "RssShmem:")
}

// PeakResident returns the most resident memory that a process had, in bytes, with what it shares with files.
func PeakResident(t testing.TB, pid int) int {
	t.Helper()
	return statusBytes(t, pid, "VmHWM:")
}

// statusBytes returns a size of /proc/PID/status.
func statusBytes(t testing.TB, pid int, name string) int {
	t.Helper()
	_, after, found := strings.Cut(ReadFile(t, fmt.Sprintf("/proc/%d/status", pid)), name)
	assert.TrueNow(t, found, "/proc/%d/status has no %s", pid, name)
	kilobytes := assert.Must(strconv.Atoi(strings.Fields(after)[0]))(t)
	return kilobytes << 10
}

// Maps returns what a process has mapped.
func Maps(t testing.TB, pid int) string {
	t.Helper()
	return ReadFile(t, fmt.Sprintf("/proc/%d/maps", pid))
}

// Zombies returns the processes below a server that have ended and were not waited for.
func Zombies(s *Server) (pids []int) {
	children := map[int][]int{}
	dead := map[int]bool{}
	files, _ := filepath.Glob("/proc/[0-9]*/stat") // a fixed pattern
	for _, file := range files {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		_, after, _ := bytes.Cut(stat, []byte(") "))
		fields := strings.Fields(string(after))
		pid, err := strconv.Atoi(strings.Split(file, "/")[2])
		if err != nil || len(fields) < 2 {
			continue
		}
		parent, _ := strconv.Atoi(fields[1])
		children[parent] = append(children[parent], pid)
		dead[pid] = fields[0] == "Z"
	}
	for queue := []int{s.PID}; len(queue) > 0; queue = queue[1:] {
		if dead[queue[0]] {
			pids = append(pids, queue[0])
		}
		queue = append(queue, children[queue[0]]...)
	}
	return pids
}
