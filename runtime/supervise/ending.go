package supervise

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// The descendants of a worker are ended with it, but not all at once. Some helpers do their work after their parent has
// ended: the resource trackers of multiprocessing and joblib remove shared memory and semaphores, PyTorch's manager
// does the same, a profiler writes its file. They notice the end by a pipe or socket that every process of the model
// holds. So they are ended last.
const (
	// endGrace is for descendants that end by themselves.
	endGrace = 500 * time.Millisecond
	// helperGrace is for those that ignore or handle SIGTERM, as all these helpers do.
	helperGrace = 5 * time.Second
	// urgentGrace replaces both if the server must end at once.
	urgentGrace = 300 * time.Millisecond
	// endTimeout is how long the front waits for killed processes: one may wait in a driver.
	endTimeout = time.Second
)

// urgency shortens the wait for the end of descendants if the server must end at once.
type urgency struct{ atomic.Bool }

// endDescendants ends the descendants of c, and returns when they have ended, or cannot be ended. c itself has ended
// and is not reaped, so no other process group can have its number.
func (c *child) endDescendants() {
	procs := c.descendants()
	if len(procs) == 0 {
		return
	}
	killForks(procs)
	if c.await(endGrace) {
		return
	}
	for _, p := range c.descendants() {
		switch {
		case p.ended:
		case c.urgent.Load():
		default:
			askToEnd(p.pid)
		}
	}
	if c.await(helperGrace) {
		return
	}
	for late := time.Now().Add(endTimeout); time.Now().Before(late); {
		c.killTree() // again and again, because a process may start others meanwhile
		if c.await(endTimeout / 10) {
			return
		}
	}
}

// killForks kills copies of the worker, as multiprocessing starts them. None of them is a helper, and their open
// descriptors keep the helpers from ending.
func killForks(procs []proc) {
	binary, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	for _, p := range procs {
		if target, err := os.Readlink("/proc/" + strconv.Itoa(p.pid) + "/exe"); err == nil && target == binary {
			_ = unix.Kill(p.pid, unix.SIGKILL) // fails only if it has ended
		}
	}
}

// await waits until c has no descendants any more, and reaps the orphans among them. It returns false if some are left
// after that time.
func (c *child) await(grace time.Duration) bool {
	began := time.Now()
	for {
		limit := grace
		if c.urgent.Load() {
			limit = min(limit, urgentGrace)
		}
		var left []int
		for _, p := range c.descendants() {
			switch {
			case !p.ended:
				left = append(left, p.pid)
			case p.parent == os.Getpid():
				_, _ = unix.Wait4(p.pid, nil, unix.WNOHANG, nil) // an orphan; Reap may have been first
			}
		}
		if len(left) == 0 {
			return true
		}
		rest := limit - time.Since(began)
		if rest <= 0 {
			return false
		}
		awaitOne(left, min(rest, 100*time.Millisecond))
	}
}

// awaitOne waits until one of the processes has ended, at most that long.
func awaitOne(pids []int, limit time.Duration) {
	var fds []unix.PollFd
	for _, pid := range pids {
		if fd, err := unix.PidfdOpen(pid, 0); err == nil {
			fds = append(fds, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
			defer unix.Close(fd)
		}
	}
	if len(fds) < len(pids) { // one has ended, or descriptors are short, or the kernel is old
		limit = min(limit, 5*time.Millisecond)
	}
	_, _ = unix.Poll(fds, int(max(limit.Milliseconds(), 1))) // the caller checks in any case
}

// askToEnd ends a process that has not ended by itself. One that ignores SIGTERM, or blocks it while it starts, is a
// tracker, which waits until all others have ended; one that handles it gets it.
func askToEnd(pid int) {
	ignored, caught := signalSets(pid)
	const term = 1 << (unix.SIGTERM - 1)
	switch {
	case ignored&term != 0:
	case caught&term != 0:
		_ = unix.Kill(pid, unix.SIGTERM) // fails only if it has ended, as do the next ones
	case isHelper(pid):
	default:
		_ = unix.Kill(pid, unix.SIGKILL)
	}
}

// isHelper reports whether a process is the helper that cleans up after its parent's end and does not ignore SIGTERM:
// PyTorch's, for shared memory.
func isHelper(pid int) bool {
	name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)) // fails if it has ended
	return strings.HasPrefix(string(name), "torch_shm_manag")
}

// signalSets reads which signals a process ignores or blocks, and which it handles; proc_pid_status(5).
func signalSets(pid int) (ignored, caught uint64) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)) // fails if it has ended
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		switch set, _ := strconv.ParseUint(strings.TrimSpace(value), 16, 64); name {
		case "SigIgn", "SigBlk":
			ignored |= set
		case "SigCgt":
			caught = set
		}
	}
	return ignored, caught
}
