package workers

import (
	"os/exec"
	"path/filepath"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// withoutSubreapers runs a command for which prctl(PR_SET_CHILD_SUBREAPER) is an invalid argument, as it is in QEMU.
const withoutSubreapers = `
import ctypes
import os
import platform
import struct
import sys

libc = ctypes.CDLL(None, use_errno=True)
number = {"x86_64": 157, "aarch64": 167}[platform.machine()]
program = b"".join(
    struct.pack("HBBI", *line)
    for line in [
        (0x20, 0, 0, 0),  # load the number of the system call
        (0x15, 0, 3, number),  # prctl?
        (0x20, 0, 0, 16),  # load its first argument
        (0x15, 0, 1, 36),  # PR_SET_CHILD_SUBREAPER?
        (0x06, 0, 0, 0x00050000 | 22),  # EINVAL
        (0x06, 0, 0, 0x7FFF0000),  # allow
    ]
)
text = ctypes.create_string_buffer(program, len(program))
fprog = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(text))
ok = libc.prctl(38, 1, 0, 0, 0) == 0  # PR_SET_NO_NEW_PRIVS
if not ok or libc.prctl(22, 2, fprog, 0, 0) != 0:  # PR_SET_SECCOMP, SECCOMP_MODE_FILTER
    sys.exit(f"no filter: {os.strerror(ctypes.get_errno())}")
if libc.prctl(36, 1, 0, 0, 0) == 0:
    sys.exit("the filter has no effect")
os.execvp(sys.argv[1], sys.argv[1:])
`

func TestSubreaper_SystemWithout(t *testing.T) {
	t.Parallel()
	python := harness.AnyPython(t).Path
	wrap := []string{python, filepath.Join(harness.NewFolder(t, "wrap.py", withoutSubreapers), "wrap.py")}
	if out, err := exec.Command(wrap[0], append(wrap[1:], "true")...).CombinedOutput(); err != nil {
		t.Skipf("this system has no filters of system calls: %v\n%s", err, out)
	}
	dir := harness.NewFolder(t, "run.py", "def run(x: int) -> int:\n    return x + 1\n")
	s := harness.Ready(t, harness.Options{Dir: dir, Wrap: wrap})
	s.Succeed(map[string]any{"x": 1})
	s.Stop()
	for _, line := range [][]string{
		{"predict", dir, "-i", "x=1"},
		{"schema", dir, "--execute"},
		{"check", dir, "--setup"},
	} {
		args := append(append(append([]string{}, wrap[1:]...), harness.Binary(t)), append(line, "--python", python)...)
		out, err := exec.Command(wrap[0], args...).CombinedOutput()
		assert.True(t, err == nil, "pinion %q: got %v, want success:\n%s", line, err, out)
	}
}
