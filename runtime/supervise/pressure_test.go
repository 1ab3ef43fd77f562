package supervise

import (
	"testing"
	"time"

	"pinion/tests/assert"
)

// TestPressure_CPUPressure: the control group's own where there is one, else that of the machine.
func TestPressure_CPUPressure(t *testing.T) {
	const v2Mount = "30 23 0:26 / /sys/fs/cgroup rw,relatime shared:4 - cgroup2 cgroup2 rw\n"
	const v1Mount = "35 31 0:32 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"
	pressure := func(some string) string {
		return "some avg10=2.00 avg60=1.00 avg300=0.00 total=" + some + "\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n"
	}
	for name, c := range map[string]struct {
		files map[string]string
		want  time.Duration
		known bool
	}{
		"version 2": {map[string]string{
			"proc/self/cgroup": "0::/pod\n", "proc/self/mountinfo": v2Mount,
			"sys/fs/cgroup/pod/cpu.pressure": pressure("1500000"), "proc/pressure/cpu": pressure("2"),
		}, 1500 * time.Millisecond, true},
		"version 2, unknown for groups": {map[string]string{
			"proc/self/cgroup": "0::/pod\n", "proc/self/mountinfo": v2Mount, "proc/pressure/cpu": pressure("2"),
		}, 2 * time.Microsecond, true},
		"version 1": {map[string]string{
			"proc/self/cgroup": "4:cpu,cpuacct:/x\n", "proc/self/mountinfo": v1Mount, "proc/pressure/cpu": pressure("3"),
		}, 3 * time.Microsecond, true},
		"no control groups": {map[string]string{"proc/pressure/cpu": pressure("4")}, 4 * time.Microsecond, true},
		"a virtual machine": {map[string]string{
			"proc/pressure/cpu": pressure("5000000"), "proc/stat": "cpu  1 2 3 4 5 6 7 250 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\n",
		}, 7500 * time.Millisecond, true},
		"an old kernel's statistics": {
			map[string]string{"proc/pressure/cpu": pressure("6"), "proc/stat": "cpu  1 2 3 4\n"},
			6 * time.Microsecond, true,
		},
		"unknown":  {map[string]string{}, 0, false},
		"nonsense": {map[string]string{"proc/pressure/cpu": "some total=much\nother total=5"}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, known := cpuPressure(tree(t, c.files))()
			assert.Equal(t, "value", got, c.want)
			assert.Equal(t, "known", known, c.known)
		})
	}
}
