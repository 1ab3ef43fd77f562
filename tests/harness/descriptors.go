package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"pinion/tests/assert"
)

// EndDescriptors lowers a server's limit of descriptors to those that it opened before its worker's, and returns a
// function that ends that. An open connection goes on.
func EndDescriptors(t *testing.T, pid int) (end func()) {
	t.Helper()
	folder := fmt.Sprintf("/proc/%d/fd", pid)
	entries := assert.Must(os.ReadDir(folder))(t)
	page := -1
	for _, e := range entries {
		n, _ := strconv.Atoi(e.Name())
		if target, _ := os.Readlink(filepath.Join(folder, e.Name())); strings.HasPrefix(target, "/memfd:pinion-page") &&
			(page < 0 || n < page) {
			page = n
		}
	}
	assert.TrueNow(t, page >= 0, "got no shared page among the server's descriptors, %d, want at least 0", page)
	return LimitDescriptors(t, pid, page)
}

// LimitDescriptors lets a process open only descriptors below most, and returns a function that ends that.
func LimitDescriptors(t *testing.T, pid, most int) (end func()) {
	t.Helper()
	var old unix.Rlimit
	assert.NoError(t, unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &old))
	limit := unix.Rlimit{Cur: uint64(most), Max: old.Max}
	assert.NoError(t, unix.Prlimit(pid, unix.RLIMIT_NOFILE, &limit, nil))
	return func() { assert.NoError(t, unix.Prlimit(pid, unix.RLIMIT_NOFILE, &old, nil)) }
}
