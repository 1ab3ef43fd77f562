package supervise

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// proc is what /proc says about a process.
type proc struct {
	pid, parent, group int
	ended              bool // it waits to be reaped
}

// processes lists all processes that this one may see.
func processes() (list []proc) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil // without /proc no process can be found
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // after an error, what was read counts
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if f := statOf(pid); len(f) > 2 {
			parent, _ := strconv.Atoi(f[1]) // the kernel writes numbers
			group, _ := strconv.Atoi(f[2])
			list = append(list, proc{pid, parent, group, f[0] == "Z" || f[0] == "X"})
		}
	}
	return list
}

// descendants returns the processes that c started, and those that they started, without c. Some have lost their
// parents, and are children of this process now.
func (c *child) descendants() (found []proc) {
	procs := processes()
	belongs := map[int]bool{c.pid: true}
	for _, p := range procs {
		if p.group == c.pid || c.orphans.belongsTo(c, p) {
			belongs[p.pid] = true
		}
	}
	for grown := true; grown; {
		grown = false
		for _, p := range procs {
			if belongs[p.parent] && !belongs[p.pid] && !c.orphans.isOwn(p.pid) {
				belongs[p.pid], grown = true, true
			}
		}
	}
	for _, p := range procs {
		if p.pid != c.pid && belongs[p.pid] && !c.orphans.isOwn(p.pid) {
			found = append(found, p)
		}
	}
	return found
}

// killTree kills the descendants at once.
func (c *child) killTree() {
	for _, p := range c.descendants() {
		_ = unix.Kill(p.pid, unix.SIGKILL) // fails only if it has ended, or is another user's
	}
}

// A worker is identified by its oom_score_adj, which all its descendants inherit, even in another session or group and
// with another parent or environment. Each worker has its own value, as long as there are some left.

// takeScore finds an oom_score_adj that no other child has; 0 means there is none.
func (o *Orphans) takeScore() int {
	if o == nil || o.score == unknownScore {
		return 0
	}
	taken := make(map[int]bool)
	for _, c := range o.own {
		if c != nil {
			taken[c.score] = true
		}
	}
	for score := o.score + oomScoreAdjust + 1; score <= oomScoreMost; score++ {
		if !taken[score] {
			return score
		}
	}
	return 0
}

// belongsTo reports whether p is an orphan of c: a child of this process that this process did not start.
func (o *Orphans) belongsTo(c *child, p proc) bool {
	if o == nil || p.parent != o.self || p.group == o.group {
		return false
	}
	o.mu.Lock()
	_, own := o.own[p.pid]
	alone := !slices.ContainsFunc(slices.Collect(maps.Values(o.own)),
		func(other *child) bool { return other != nil && other != c })
	o.mu.Unlock()
	switch {
	case own:
		return false
	case c.score != 0:
		return scoreOf(strconv.Itoa(p.pid)) == c.score
	case p.ended: // its worker is unknown
		return false
	default: // no score is left, or none can be set
		return c.hasPipe(p.pid) || alone && !isContained(p.pid)
	}
}

// isOwn reports whether other code of this process waits for pid.
func (o *Orphans) isOwn(pid int) bool {
	if o == nil {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	_, own := o.own[pid]
	return own
}

// hasPipe reports whether a process has the worker's stdout or stderr.
func (c *child) hasPipe(pid int) bool {
	for fd := range 3 {
		target, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, fd))
		if err == nil && slices.Contains(c.pipes, target) {
			return true
		}
	}
	return false
}

// isContained reports whether this process started pid to contain a program.
func isContained(pid int) bool {
	line, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline")) // it has ended
	return bytes.Contains(line, []byte("\x00--contain-program\x00"))
}

// KillLeft kills the remaining orphans, at the end of this process.
func (o *Orphans) KillLeft() {
	if o == nil {
		return
	}
	for _, p := range processes() {
		if p.parent == o.self && p.group != o.group && !p.ended && !o.isOwn(p.pid) && !isContained(p.pid) {
			_ = unix.Kill(p.pid, unix.SIGKILL) // fails only if it has ended, or is another user's
		}
	}
}
