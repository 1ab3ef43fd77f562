package supervise

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Orphans reaps processes that became this one's children though it did not start them, as every orphan of a container
// becomes a child of its first process. It leaves processes that were started to those who wait for them.
type Orphans struct {
	mu  sync.Mutex
	own map[int]struct{} // processes that are waited for elsewhere
}

func NewOrphans() *Orphans { return &Orphans{own: make(map[int]struct{})} }

// Start starts a command that its caller waits for, and then calls Waited. A nil o only starts it.
func (o *Orphans) Start(cmd *exec.Cmd) error {
	if o == nil {
		return cmd.Start()
	}
	o.mu.Lock() // so that Reap finds no child whose number is not known yet
	defer o.mu.Unlock()
	err := cmd.Start()
	if err == nil {
		o.own[cmd.Process.Pid] = struct{}{}
	}
	return err
}

// adopt is Start for a process that another process forks for the caller; it must be a child of this one by then.
func (o *Orphans) adopt(start func() (pid int, err error)) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	pid, err := start()
	if err == nil {
		o.own[pid] = struct{}{}
	}
	return pid, err
}

func (o *Orphans) Waited(pid int) {
	if o == nil {
		return
	}
	o.mu.Lock()
	delete(o.own, pid)
	o.mu.Unlock()
	o.Reap() // an orphan may have had its number
}

// Reap reaps the orphans that have ended, and returns how many there were. Call it on each SIGCHLD.
func (o *Orphans) Reap() (n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, pid := range zombies(os.Getpid()) {
		if _, ours := o.own[pid]; ours {
			continue
		}
		if got, err := unix.Wait4(pid, nil, unix.WNOHANG, nil); err == nil && got == pid {
			n++
		}
	}
	return n
}

// zombies returns the ended children of a process that are not reaped.
func zombies(parent int) (pids []int) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil // without /proc no orphan can be found
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // after an error, what was read counts
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if f := statOf(pid); len(f) > 1 && f[0] == "Z" && f[1] == strconv.Itoa(parent) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// statOf returns the fields of /proc/PID/stat from the state on; nil: there is no such process. proc_pid_stat(5): pid,
// (name), state, ppid, pgrp, session, tty, tpgid, flags …; the name may hold any character.
func statOf(pid int) []string {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil
	}
	return strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
}

// resident returns the resident memory of a process in bytes; 0: unknown.
func resident(pid int) int64 {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text)) // proc_pid_statm(5): size, resident … in pages
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(fields[1], 10, 64) // 0 if it is no number
	return pages * int64(os.Getpagesize())
}
