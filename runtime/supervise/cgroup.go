package supervise

import (
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// memoryGroup is the control group that bounds this process's memory, by its folder; "" where there is none.
type memoryGroup struct {
	folder string // of this process's group
	root   string // of the hierarchy, as far as it is seen here
	v2     bool
}

// findMemoryGroup finds this process's, under root ("/", but in tests).
func findMemoryGroup(root string) memoryGroup {
	groups, _ := os.ReadFile(filepath.Join(root, "proc/self/cgroup")) // without it there is none
	mounts, _ := os.ReadFile(filepath.Join(root, "proc/self/mountinfo"))
	var v1Path, v2Path string
	for line := range strings.Lines(string(groups)) { // cgroups(7): number:controllers:path
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(parts) < 3:
		case parts[0] == "0" && parts[1] == "":
			v2Path = parts[2]
		case hasItem(parts[1], "memory"):
			v1Path = parts[2]
		}
	}
	var found memoryGroup
	for line := range strings.Lines(string(mounts)) {
		// proc_pid_mountinfo(5): id, parent, device, root, mount point, options, … "-", type, source, super options
		head, tail, ok := strings.Cut(line, " - ")
		before, after := strings.Fields(head), strings.Fields(tail)
		if !ok || len(before) < 5 || len(after) < 3 {
			continue
		}
		switch {
		case after[0] == "cgroup" && hasItem(after[2], "memory") && v1Path != "":
			return memoryGroup{folder: inMount(root, before[4], before[3], v1Path), root: filepath.Join(root, before[4])}
		case after[0] == "cgroup2" && v2Path != "":
			found = memoryGroup{folder: inMount(root, before[4], before[3], v2Path), root: filepath.Join(root, before[4]), v2: true}
		}
	}
	return found
}

func hasItem(list, item string) bool {
	for x := range strings.SplitSeq(list, ",") {
		if x == item {
			return true
		}
	}
	return false
}

// inMount is the folder of a group: its path is as the host sees it, and mountRoot what of that is mounted.
func inMount(root, mount, mountRoot, group string) string {
	rest, under := strings.CutPrefix(group, strings.TrimSuffix(mountRoot, "/"))
	if !under || strings.HasPrefix(rest, "/..") {
		rest = "" // a group outside of what is mounted: that is its namespace's root
	}
	return filepath.Join(root, mount, path.Clean("/"+rest))
}

// Limit is the most memory that this process and its siblings may have, in bytes; 0: no limit is known.
func (g memoryGroup) limit() (limit int64) {
	if g.folder == "" {
		return 0
	}
	file := "memory.limit_in_bytes"
	if g.v2 {
		file = "memory.max"
	}
	for folder := g.folder; ; folder = filepath.Dir(folder) {
		text, _ := os.ReadFile(filepath.Join(folder, file))                              // the topmost group has none
		n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)              // "max": none
		if none := int64(1) << 60; err == nil && n < none && (limit == 0 || n < limit) { // version 1 says "none" by a large number
			limit = n
		}
		if folder == g.root || len(folder) <= len(g.root) {
			return limit
		}
	}
}

// kills is how many processes of the group the kernel has ended for want of memory; false: it does not say.
func (g memoryGroup) kills() (n uint64, ok bool) {
	if g.folder == "" {
		return 0, false
	}
	file := "memory.oom_control"
	if g.v2 {
		file = "memory.events"
	}
	text, err := os.ReadFile(filepath.Join(g.folder, file))
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		if value, found := strings.CutPrefix(line, "oom_kill "); found {
			n, err := strconv.ParseUint(strings.TrimSpace(value), 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}

// MemoryLimit is the most memory in bytes that this process and its workers may have together, by their
// control group; 0: there is no limit.
func MemoryLimit() int64 { return findMemoryGroup("/").limit() }
