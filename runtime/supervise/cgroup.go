package supervise

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// group is a control group that limits this process.
type group struct {
	folder string // of the group; "" if there is none
	root   string // of the hierarchy, as far as it is mounted here
	v2     bool
}

type (
	memoryGroup group
	cpuGroup    group
	pidsGroup   group
)

func findMemoryGroup(root string) memoryGroup { return memoryGroup(findGroup(root, "memory")) }

// findGroup finds the group of this process that a controller limits. root is "/", except in tests.
func findGroup(root, controller string) group {
	groups, _ := os.ReadFile(filepath.Join(root, "proc/self/cgroup")) // without it there is no group
	mounts, _ := os.ReadFile(filepath.Join(root, "proc/self/mountinfo"))
	var v1Path, v2Path string
	for line := range strings.Lines(string(groups)) { // cgroups(7): number:controllers:path
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(parts) < 3:
		case parts[0] == "0" && parts[1] == "":
			v2Path = parts[2]
		case slices.Contains(strings.Split(parts[1], ","), controller):
			v1Path = parts[2]
		}
	}
	var found group
	for line := range strings.Lines(string(mounts)) {
		// proc_pid_mountinfo(5): id, parent, device, root, mount point, options, … "-", type, source, super options
		head, tail, ok := strings.Cut(line, " - ")
		before, after := strings.Fields(head), strings.Fields(tail)
		if !ok || len(before) < 5 || len(after) < 3 {
			continue
		}
		switch {
		case after[0] == "cgroup" && slices.Contains(strings.Split(after[2], ","), controller) && v1Path != "":
			return group{folder: inMount(root, before[4], before[3], v1Path), root: filepath.Join(root, before[4])}
		case after[0] == "cgroup2" && v2Path != "":
			found = group{folder: inMount(root, before[4], before[3], v2Path), root: filepath.Join(root, before[4]), v2: true}
		}
	}
	return found
}

// inMount returns the folder of a group. Its path is the host's; mountRoot is the part of the hierarchy that is
// mounted.
func inMount(root, mount, mountRoot, group string) string {
	rest, under := strings.CutPrefix(group, strings.TrimSuffix(mountRoot, "/"))
	if !under || strings.HasPrefix(rest, "/..") {
		rest = "" // the group is outside of what is mounted, which is its namespace's root
	}
	return filepath.Join(root, mount, path.Clean("/"+rest))
}

// levels yields the folders of the group and of its ancestors; the limits of all of them apply.
func (g group) levels(yield func(folder string) bool) {
	if g.folder == "" {
		return
	}
	for folder := g.folder; yield(folder); folder = filepath.Dir(folder) {
		if folder == g.root || len(folder) <= len(g.root) {
			return
		}
	}
}

// limit returns how much memory this process and its siblings may have, in bytes; 0 means no limit is known.
func (g memoryGroup) limit() (limit int64) {
	file := "memory.limit_in_bytes"
	if g.v2 {
		file = "memory.max"
	}
	for folder := range group(g).levels {
		text, _ := os.ReadFile(filepath.Join(folder, file))                 // the topmost group has none
		n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64) // "max" means none
		// version 1 says "none" by a large number
		if none := int64(1) << 60; err == nil && n < none && (limit == 0 || n < limit) {
			limit = n
		}
	}
	return limit
}

// limit returns how many CPUs' time this process and its siblings may have; 0 means no limit is known.
func (g cpuGroup) limit() (limit float64) {
	files := []string{"cpu.cfs_quota_us", "cpu.cfs_period_us"}
	if g.v2 {
		files = []string{"cpu.max"} // quota and period
	}
	for folder := range group(g).levels {
		var words []string
		for _, file := range files {
			text, _ := os.ReadFile(filepath.Join(folder, file)) // the topmost group has none
			words = append(words, strings.Fields(string(text))...)
		}
		if len(words) != 2 {
			continue
		}
		quota, err1 := strconv.ParseFloat(words[0], 64) // "max", or -1, means none
		period, err2 := strconv.ParseFloat(words[1], 64)
		if n := quota / period; err1 == nil && err2 == nil && n > 0 && (limit == 0 || n < limit) {
			limit = n
		}
	}
	return limit
}

// kills returns how many processes of the group the kernel has ended for lack of memory, or false if it does not say.
func (g memoryGroup) kills() (n uint64, ok bool) {
	if g.folder == "" {
		return 0, false
	}
	file := "memory.oom_control"
	if g.v2 {
		file = "memory.events"
	}
	return counter(filepath.Join(g.folder, file), "oom_kill ")
}

// counter reads one of the numbers of a file; false means it is not there.
func counter(file, name string) (n uint64, ok bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		if value, found := strings.CutPrefix(line, name); found {
			n, err := strconv.ParseUint(strings.TrimSpace(value), 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}

// refusals returns how many threads and processes the kernel has refused because pids.max of the group, or of one
// around it, was reached; 0 means none, or it does not say.
func (g pidsGroup) refusals() (sum uint64) {
	for folder := range group(g).levels {
		n, _ := counter(filepath.Join(folder, "pids.events"), "max ") // the topmost group has none
		sum += n
	}
	return sum
}

// limit returns how many threads this process and its siblings may have; 0 means no limit is known.
func (g pidsGroup) limit() (limit int64) {
	for folder := range group(g).levels {
		text, _ := os.ReadFile(filepath.Join(folder, "pids.max"))           // the topmost group has none
		n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64) // "max" means none
		if err == nil && (limit == 0 || n < limit) {
			limit = n
		}
	}
	return limit
}

// ThreadLimit returns how many threads the control group allows this process and its workers; 0 means no limit.
func ThreadLimit() int64 { return pidsGroup(findGroup("/", "pids")).limit() }

// MemoryLimit returns how much memory the control group allows this process and its workers, in bytes; 0 means no
// limit.
func MemoryLimit() int64 { return findMemoryGroup("/").limit() }

// CPULimit returns how many CPUs' time the control group allows this process and its workers; 0 means no limit.
func CPULimit() float64 { return cpuGroup(findGroup("/", "cpu")).limit() }
