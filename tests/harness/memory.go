package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// MemoryGroup makes a control group with a memory limit, and a command that enters it before it becomes another. Where
// no group can be made, as by most users and in most containers, ok is false.
func MemoryGroup(t testing.TB, limit int64) (folder string, enter []string, ok bool) {
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
	for _, of := range [][2]string{{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"}, {"/sys/fs/cgroup", "memory.max"}} {
		folder = filepath.Join(of[0], fmt.Sprintf("pinion-test-%d-%d", os.Getpid(), serial.Add(1)))
		if os.Mkdir(folder, 0o755) != nil {
			continue
		}
		// The last process may still be on its way out.
		t.Cleanup(func() { _ = until(func() bool { err := os.Remove(folder); return err == nil || os.IsNotExist(err) }) })
		_ = set("memory.swap.max", "0") // where there is swap
		if set(of[1], strconv.FormatInt(limit, 10)) == nil {
			return folder, []string{"sh", "-c", `echo $$ >"$0"/cgroup.procs && exec "$@"`, folder}, true
		}
	}
	return "", nil, false
}
