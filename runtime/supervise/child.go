package supervise

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// child is a process of this binary, in the role of a worker or of a preload process, that this front waits for.
type child struct {
	cmd     *exec.Cmd // nil: it was forked from a preload process
	pid     int
	orphans *Orphans      // knows of it; may be nil
	exited  chan struct{} // closed once it has ended and exit is set

	mu     sync.Mutex
	reaped bool // the pid may be another process's
	exit   Exit
}

// roleCommand makes the command that starts this binary in another role; the environment tells it its task. The files are
// its descriptors from 3 on.
func roleCommand(role, exe string, t task, files ...*os.File) (*exec.Cmd, error) {
	config, err := t.spec.Encode()
	if err != nil {
		return nil, fmt.Errorf("encode %s spec: %w", role, err)
	}
	return &exec.Cmd{
		Path:       exe,
		Args:       []string{"pinion: " + role},
		Dir:        t.spec.Root,
		Env:        append(t.env[:len(t.env):len(t.env)], EnvName+"="+string(config)),
		ExtraFiles: files,
		// Its own group: terminal signals stay away, and one kill reaches all that it started.
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}, nil
}

// wait waits for the end of the child, kills what it started, and reaps it. Signals stop before that, so that none reaches
// another process that was given its number.
func (c *child) wait() (syscall.WaitStatus, error) {
	for unix.Waitid(unix.P_PID, c.pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	c.mu.Lock()
	_ = unix.Kill(-c.pid, unix.SIGKILL) // the group may be empty; forked workers have left it
	c.reaped = true
	c.mu.Unlock()
	ws, err := c.reap()
	c.orphans.Waited(c.pid)
	return ws, err
}

// reap takes the exit status. It fails if another has taken it.
func (c *child) reap() (syscall.WaitStatus, error) {
	if c.cmd == nil {
		var ws unix.WaitStatus
		_, err := unix.Wait4(c.pid, &ws, 0, nil)
		return syscall.WaitStatus(ws), err
	}
	err := c.cmd.Wait()
	if c.cmd.ProcessState == nil {
		return 0, err
	}
	ws, _ := c.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ws, nil // Wait's error repeats the status
}

// signal calls send with the child's number, unless the child was reaped.
func (c *child) signal(send func(pid int)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.reaped {
		send(c.pid)
	}
}

// dying tells whether the child is exiting, which takes seconds if a driver has much to free. Its exit status is decided
// then, and must not be taken for this server's doing.
func (c *child) dying() bool {
	exiting, known := c.exiting()
	return known && exiting
}

// living tells whether the child is certainly not exiting.
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
