package supervise

import (
	"os"
	"path/filepath"
	"testing"

	"pinion/tests/assert"
)

// tree makes files under a folder of the test's.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		assert.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		assert.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return root
}

// TestCgroup_MemoryGroup: limits and kills, as containers of either kind of control group show them.
func TestCgroup_MemoryGroup(t *testing.T) {
	const v2Mount = "30 23 0:26 / /sys/fs/cgroup rw,relatime shared:4 - cgroup2 cgroup2 rw\n"
	const v1Mount = "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
	for name, c := range map[string]struct {
		files map[string]string
		limit int64
		kills uint64
		known bool
	}{
		"version 2 in a namespace": {map[string]string{
			"proc/self/cgroup": "0::/\n", "proc/self/mountinfo": v2Mount,
			"sys/fs/cgroup/memory.max": "1073741824\n", "sys/fs/cgroup/memory.events": "low 0\noom 3\noom_kill 2\n",
		}, 1 << 30, 2, true},
		"version 2, the limit is the parent's": {map[string]string{
			"proc/self/cgroup": "0::/pod/container\n", "proc/self/mountinfo": v2Mount,
			"sys/fs/cgroup/pod/memory.max": "536870912\n", "sys/fs/cgroup/pod/container/memory.max": "max\n",
			"sys/fs/cgroup/pod/container/memory.events": "oom_kill 0\n",
		}, 512 << 20, 0, true},
		"version 2, no limit": {map[string]string{
			"proc/self/cgroup": "0::/user.slice\n", "proc/self/mountinfo": v2Mount,
			"sys/fs/cgroup/user.slice/memory.max": "max\n",
		}, 0, 0, false},
		"version 1": {map[string]string{
			"proc/self/cgroup": "4:cpu,cpuacct:/x\n3:memory:/x\n0::/\n", "proc/self/mountinfo": v1Mount + v2Mount,
			"sys/fs/cgroup/memory/x/memory.limit_in_bytes": "268435456\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":   "9223372036854771712\n",
			"sys/fs/cgroup/memory/x/memory.oom_control":    "oom_kill_disable 0\nunder_oom 0\noom_kill 7\n",
		}, 256 << 20, 7, true},
		"version 1 without a namespace: the host's path, of which a part is mounted": {map[string]string{
			"proc/self/cgroup":                           "3:memory:/docker/abc\n",
			"proc/self/mountinfo":                        "35 31 0:32 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "268435456\n",
			"sys/fs/cgroup/memory/memory.oom_control":    "oom_kill 1\n",
		}, 256 << 20, 1, true},
		"no control groups": {map[string]string{}, 0, 0, false},
		"nonsense":          {map[string]string{"proc/self/cgroup": "::\n:", "proc/self/mountinfo": "- -\n\n"}, 0, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := findMemoryGroup(tree(t, c.files))
			assert.Equal(t, "the limit", g.limit(), c.limit)
			n, ok := g.kills()
			assert.True(t, n == c.kills && ok == c.known, "%d kills, %v; want %d, %v", n, ok, c.kills, c.known)
		})
	}
}

// TestCgroup_CPULimit, as containers of either kind of control group show it.
func TestCgroup_CPULimit(t *testing.T) {
	const v2Mount = "30 23 0:26 / /sys/fs/cgroup rw,relatime shared:4 - cgroup2 cgroup2 rw\n"
	const v1Mount = "35 31 0:32 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"
	v1 := func(quota string) map[string]string {
		return map[string]string{
			"proc/self/cgroup": "4:cpu,cpuacct:/x\n3:memory:/x\n", "proc/self/mountinfo": v1Mount,
			"sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us":  quota + "\n",
			"sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_period_us": "100000\n",
		}
	}
	v2 := func(around, own string) map[string]string {
		return map[string]string{
			"proc/self/cgroup": "0::/pod/container\n", "proc/self/mountinfo": v2Mount,
			"sys/fs/cgroup/pod/cpu.max": around + "\n", "sys/fs/cgroup/pod/container/cpu.max": own + "\n",
		}
	}
	for name, c := range map[string]struct {
		files map[string]string
		limit float64
	}{
		"version 2":                        {v2("max 100000", "150000 100000"), 1.5},
		"version 2, the limit is around":   {v2("50000 100000", "max 100000"), 0.5},
		"version 2, the smaller one holds": {v2("300000 100000", "100000 50000"), 2},
		"version 2, no limit":              {v2("max 100000", "max 100000"), 0},
		"version 2, nonsense":              {v2("1 0 2", "much"), 0},
		"version 1":                        {v1("250000"), 2.5},
		"version 1, no limit":              {v1("-1"), 0},
		"no control groups":                {map[string]string{}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, "the limit", cpuGroup(findGroup(tree(t, c.files), "cpu")).limit(), c.limit)
		})
	}
}

// TestCgroup_OOMWatch: a kill counts for a while, and then no more.
func TestCgroup_OOMWatch(t *testing.T) {
	root := tree(t, map[string]string{"memory.events": "oom_kill 5\n", "memory.max": "1048576\n"})
	w := newOOMWatch(memoryGroup{folder: root, root: root, v2: true})
	expect := func(want Shortage) {
		t.Helper()
		assert.Equal(t, "the shortage", w.killed(), want)
	}
	expect(ShortageNo)
	assert.NoError(t, os.WriteFile(filepath.Join(root, "memory.events"), []byte("oom_kill 6\n"), 0o644))
	expect(ShortageYes)
	w.check()
	expect(ShortageYes)
	w.check()
	expect(ShortageNo)
	assert.Equal(t, "the limit", w.limit, 1<<20)
	assert.NoError(t, os.Remove(filepath.Join(root, "memory.events")))
	expect(ShortageUnknown)
}
