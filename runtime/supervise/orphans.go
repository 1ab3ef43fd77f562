package supervise

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Orphans lists the processes that this one waits for, finds out whose orphans the other children are, and reaps those.
// Every descendant that loses its parent becomes this process's child.
type Orphans struct {
	self, group int
	score       int // this process's oom_score_adj

	mu   sync.Mutex
	own  map[int]*child    // processes that other code waits for; nil for one that leaves no orphans
	seen map[int]time.Time // ended processes that are not in own: when they were first seen
}

func NewOrphans() *Orphans {
	return &Orphans{
		self: os.Getpid(), group: unix.Getpgrp(), score: scoreOf("self"), own: make(map[int]*child),
		seen: make(map[int]time.Time),
	}
}

// Start starts a command that its caller waits for, and then calls Waited. A nil o only starts it.
func (o *Orphans) Start(cmd *exec.Cmd) error {
	if o == nil {
		return cmd.Start()
	}
	o.mu.Lock() // so that Reap finds no child whose pid is not known yet
	defer o.mu.Unlock()
	err := cmd.Start()
	if err == nil {
		o.own[cmd.Process.Pid] = nil
	}
	return err
}

// start is Start for a child.
func (o *Orphans) start(c *child) error {
	if o != nil {
		o.mu.Lock()
		defer o.mu.Unlock()
	}
	if err := c.cmd.Start(); err != nil {
		return err
	}
	o.add(c, c.cmd.Process.Pid, o.takeScore())
	return nil
}

// adopt is start for a process that another process forks for the caller; it must be a child of this one by then.
func (o *Orphans) adopt(c *child, fork func(score int) (pid int, err error)) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	score := o.takeScore()
	pid, err := fork(score)
	if err == nil {
		o.add(c, pid, score)
	}
	return err
}

// add adds a child. Called with the lock held.
func (o *Orphans) add(c *child, pid, score int) {
	c.pid = pid
	if preferForOOM(pid, score) {
		c.score = score
	}
	if o != nil {
		o.own[pid] = c
	}
}

func (o *Orphans) Waited(pid int) {
	if o == nil {
		return
	}
	o.mu.Lock()
	delete(o.own, pid)
	o.mu.Unlock()
	o.Reap() // an orphan may have had its pid
}

// reapDelay is how long an ended process must have existed before it is reaped. By then, other code of this program has
// reaped those that it started.
const reapDelay = time.Second

// Reap reaps the orphans that have ended, and returns how many there were, and whether some are left for later. Call it
// on each SIGCHLD.
func (o *Orphans) Reap() (n int, later bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now, seen := time.Now(), make(map[int]time.Time)
	for _, p := range processes() {
		if _, own := o.own[p.pid]; own || !p.ended || p.parent != o.self {
			continue
		}
		first, before := o.seen[p.pid]
		if !before {
			first = now
		}
		if now.Sub(first) < reapDelay {
			seen[p.pid] = first
			continue
		}
		if got, err := unix.Wait4(p.pid, nil, unix.WNOHANG, nil); err == nil && got == p.pid {
			n++
		}
	}
	o.seen = seen
	return n, len(seen) > 0
}

// statOf returns the fields of /proc/PID/stat from the state on, or nil if there is no such process. proc_pid_stat(5):
// pid, (name), state, ppid, pgrp, session, tty, tpgid, flags …; the name may hold any character.
func statOf(pid int) []string {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil
	}
	return strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
}

// resident returns the resident memory of a process in bytes; 0 means unknown.
func resident(pid int) int64 {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text)) // proc_pid_statm(5): size, resident … in pages
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(fields[1], 10, 64) // 0 if it is not a number
	return pages * int64(os.Getpagesize())
}
