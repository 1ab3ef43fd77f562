package harness

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"pinion/tests/assert"
)

// MemoryGroup makes a control group with a memory limit, a command that enters the group and then executes another
// command, and a bystander process in it. While the kernel reclaims the memory of a process that it has killed, it may
// kill a second one. That would be the front (docs/how-to/production.md says how to exempt it, which takes rights that
// few have), and is the bystander instead. If no group can be made, as by most users and in most containers, ok is
// false; so it is for a sanitized binary, which does not fit in it.
func MemoryGroup(t testing.TB, limit int64) (folder string, enter []string, ok bool) {
	t.Helper()
	if Sanitized(t) {
		return "", nil, false
	}
	folder, enter, ok = group(t, strconv.FormatInt(limit, 10),
		[2]string{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"}, [2]string{"/sys/fs/cgroup", "memory.max"})
	if ok {
		stand(t, folder)
	}
	return folder, enter, ok
}

// ProcessGroup makes a control group, and returns the file that says how many threads may be in it, "max" at first.
// Where no group can be made, ok is false.
func ProcessGroup(t testing.TB) (limit string, enter []string, ok bool) {
	t.Helper()
	folder, enter, ok := group(t, "max", [2]string{"/sys/fs/cgroup/pids", "pids.max"},
		[2]string{"/sys/fs/cgroup", "pids.max"})
	return filepath.Join(folder, "pids.max"), enter, ok
}

// group makes a control group in the first of the hierarchies that can be used, and gives the file of its limit a
// value.
func group(t testing.TB, value string, hierarchies ...[2]string) (folder string, enter []string, ok bool) {
	t.Helper()
	set := func(name, value string) error { // only what the kernel has put there
		file, err := os.OpenFile(filepath.Join(folder, name), os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		defer file.Close()
		_, err = file.WriteString(value)
		return err
	}
	for _, of := range hierarchies {
		folder = filepath.Join(of[0], fmt.Sprintf("pinion-test-%d-%d", os.Getpid(), serial.Add(1)))
		if os.Mkdir(folder, 0o755) != nil {
			continue
		}
		// The last process may still be on its way out.
		t.Cleanup(func() { _ = until(func() bool { err := os.Remove(folder); return err == nil || os.IsNotExist(err) }) })
		_ = set("memory.swap.max", "0") // where there is swap
		if set(of[1], value) == nil {
			return folder, []string{"sh", "-c", `echo $$ >"$0"/cgroup.procs && exec "$@"`, folder}, true
		}
	}
	return "", nil, false
}

// stand starts the bystander: to the kernel it looks larger than a front, and smaller than a worker.
func stand(t testing.TB, folder string) { repeat(t, folder, 299, "sleep 3600") }

// FillMemory takes all memory that a group may have, again and again, by processes that the kernel kills first. full
// returns how often the group was at its limit.
func FillMemory(t testing.TB, folder string) (full func() int, end func()) {
	t.Helper()
	full = func() int {
		count := "0"
		if text, err := os.ReadFile(filepath.Join(folder, "memory.failcnt")); err == nil {
			count = string(text)
		} else if _, after, found := strings.Cut(ReadFile(t, filepath.Join(folder, "memory.events")), "\nmax "); found {
			count, _, _ = strings.Cut(after, "\n")
		}
		return assert.Must(strconv.Atoi(strings.TrimSpace(count)))(t)
	}
	return full, repeat(t, folder, 1000, "tail /dev/zero") // it waits for the end of a line
}

// repeat runs a command in a control group, and again whenever it has ended, until end is called.
func repeat(t testing.TB, folder string, score int, command string) (end func()) {
	t.Helper()
	const script = `echo $$ >"$0"/cgroup.procs &&
		while :; do sh -c 'echo "$0" >/proc/$$/oom_score_adj; exec $1' "$1" "$2"; done`
	again := exec.Command("sh", "-c", script, folder, strconv.Itoa(score), command)
	again.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	assert.NoError(t, again.Start())
	end = sync.OnceFunc(func() {
		_ = syscall.Kill(-again.Process.Pid, syscall.SIGKILL)
		_ = again.Wait()
	})
	t.Cleanup(end)
	return end
}
