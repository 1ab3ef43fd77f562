package supervise

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// child is a process of this binary, in the role of a worker or of a preload process, that this front waits for.
type child struct {
	cmd     *exec.Cmd // nil if it was forked from a preload process
	pid     int
	orphans *Orphans      // has the child in its list; may be nil
	score   int           // its oom_score_adj, if no other child has the same; otherwise 0
	pipes   []string      // its stdout and stderr, by their names in /proc
	exited  chan struct{} // closed once it has ended and exit is set
	cleared chan struct{} // closed once its descendants have ended too, and it is reaped
	givenUp latch         // closed once its end is no longer waited for
	urgent  urgency

	mu    sync.Mutex
	ended bool // it must not be signalled any more
	exit  Exit
}

func newChild(orphans *Orphans) child {
	return child{orphans: orphans, exited: make(chan struct{}), cleared: make(chan struct{}), givenUp: newLatch()}
}

// roleCommand makes the command that starts this binary in another role; the environment tells it its task. The files
// are its descriptors from 3 on.
func roleCommand(role, exe string, t task, files ...*os.File) (*exec.Cmd, error) {
	config, err := t.spec.Encode()
	if err != nil {
		return nil, fmt.Errorf("encode %s spec: %w", role, err)
	}
	env := append(t.env[:len(t.env):len(t.env)], EnvName+"="+string(config))
	if !slices.ContainsFunc(t.env, func(setting string) bool { return strings.HasPrefix(setting, collector) }) {
		env = append(env, CollectorOff)
	}
	return &exec.Cmd{
		Path:       exe,
		Args:       []string{"pinion: " + role},
		Dir:        t.spec.Root,
		Env:        env,
		ExtraFiles: files,
		// Its own group: terminal signals stay away, and one kill reaches all that it started.
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}, nil
}

// awaitEnd waits for the end of the child, and returns its status. It does not reap the child, so no other process gets
// its pid.
func (c *child) awaitEnd() (syscall.WaitStatus, error) {
	var info unix.Siginfo
	err := error(unix.EINTR)
	for errors.Is(err, unix.EINTR) {
		err = unix.Waitid(unix.P_PID, c.pid, &info, unix.WEXITED|unix.WNOWAIT, nil)
	}
	c.mu.Lock()
	c.ended = true
	c.mu.Unlock()
	return statusOf(&info), err
}

// statusOf returns the status that wait4 would return.
func statusOf(info *unix.Siginfo) syscall.WaitStatus {
	// siginfo_t of sigaction(2): signo, errno, code, on 64 bits a gap, pid, uid, status.
	status := *(*int32)(unsafe.Pointer(uintptr(unsafe.Pointer(info)) + 24))
	const exited, dumped, core = 1, 3, 0x80 // CLD_EXITED, CLD_DUMPED
	switch info.Code {
	case exited:
		return syscall.WaitStatus(status << 8)
	case dumped:
		return syscall.WaitStatus(status | core)
	default:
		return syscall.WaitStatus(status)
	}
}

// clear ends what the child started, and reaps the child.
func (c *child) clear() {
	defer close(c.cleared)
	c.endDescendants()
	c.reap()
	c.orphans.Waited(c.pid)
}

// reap reaps the child, whose exit status is known.
func (c *child) reap() {
	if c.cmd != nil {
		_ = c.cmd.Wait() // repeats the status
		return
	}
	for {
		if _, err := unix.Wait4(c.pid, nil, 0, nil); err != unix.EINTR {
			return
		}
	}
}

// signal calls send with the child's pid, unless the child has ended.
func (c *child) signal(send func(pid int)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ended {
		send(c.pid)
	}
}

// dying reports whether the child is exiting, which takes seconds if a driver has much to free. Its exit status is
// fixed by then and not due to this server.
func (c *child) dying() bool {
	exiting, known := c.exiting()
	return known && exiting
}

// living reports whether the child is certainly not exiting.
func (c *child) living() bool {
	exiting, known := c.exiting()
	return known && !exiting
}

func (c *child) exiting() (exiting, known bool) {
	const flag = 0x4 // PF_EXITING of the kernel's include/linux/sched.h
	fields := statOf(c.pid)
	if len(fields) < 7 {
		return false, false
	}
	flags, err := strconv.ParseUint(fields[6], 10, 64)
	return flags&flag != 0, err == nil
}

// usedUpCPU returns the RLIMIT_CPU of a child that has ended and is not reaped, and the time that it used, if that is
// most of the limit; otherwise 0. The kernel kills a process at the hard limit with SIGKILL. It samples the time at
// each tick, which on a busy machine differs from the exact time in /proc.
func (c *child) usedUpCPU() (limit, used time.Duration) {
	var r unix.Rlimit
	fields := statOf(c.pid)
	if err := unix.Prlimit(c.pid, unix.RLIMIT_CPU, nil, &r); err != nil || r.Max > math.MaxInt32 || len(fields) < 13 {
		return 0, 0
	}
	user, _ := strconv.ParseInt(fields[11], 10, 64) // the kernel writes numbers
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	limit, used = time.Duration(r.Max)*time.Second, time.Duration(user+system)*userTick
	if used < limit/2 {
		return 0, 0
	}
	return limit, used
}
