package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
)

// Freeze stops a process so that not even SIGKILL ends it, as one is that waits in a driver. The function that it
// returns lets the process go on, and may be called more than once. The error says that no process can be frozen here:
// only the first version of control groups has such a state, and only root may make groups.
func Freeze(pid int) (thaw func() error, err error) {
	group := filepath.Join("/sys/fs/cgroup/freezer", fmt.Sprintf("pinion-test-%d-%d", os.Getpid(), pid))
	if err := os.Mkdir(group, 0o700); err != nil {
		return nil, err
	}
	write := func(name, text string) error { return os.WriteFile(filepath.Join(group, name), []byte(text), 0) }
	thaw = sync.OnceValue(func() error {
		if err := write("freezer.state", "THAWED"); err != nil {
			return err
		}
		return until(func() bool { return os.Remove(group) == nil }) // once the process has left it
	})
	if err := write("cgroup.procs", strconv.Itoa(pid)); err != nil { // it has ended
		return thaw, nil
	}
	if err := write("freezer.state", "FROZEN"); err != nil {
		return nil, err
	}
	return thaw, until(func() bool {
		state, err := os.ReadFile(filepath.Join(group, "freezer.state"))
		return err == nil && string(state) == "FROZEN\n"
	})
}

// CanFreeze reports whether processes can be frozen here.
func CanFreeze() bool {
	probe := filepath.Join("/sys/fs/cgroup/freezer", fmt.Sprintf("pinion-probe-%d", os.Getpid()))
	if os.Mkdir(probe, 0o700) != nil {
		return false
	}
	_, err := os.Stat(filepath.Join(probe, "freezer.state"))
	return os.Remove(probe) == nil && err == nil
}
