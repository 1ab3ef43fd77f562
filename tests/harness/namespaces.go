package harness

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"pinion/tests/assert"
)

// AsFirstProcess returns a command by which another is the first process of its namespace, as in a container.
func AsFirstProcess(t *testing.T) []string {
	t.Helper()
	return InNamespaces(t, "--pid", "--fork", "--kill-child", "--mount-proc")
}

// InNamespaces returns a command that runs another in namespaces of its own. The test is skipped where this user may
// not make them.
func InNamespaces(t *testing.T, words ...string) []string {
	t.Helper()
	if out, err := exec.Command("unshare", append(slices.Clone(words), "true")...).CombinedOutput(); err != nil {
		t.Skipf("this user may not make namespaces: %v: %s", err, out)
	}
	return append([]string{"unshare"}, words...)
}

// OwnVarRun returns a command that gives a server its own /var/run, and where the server's readiness file is then.
func OwnVarRun(t *testing.T) (wrap []string, readyFile func(*Server) string) {
	t.Helper()
	wrap = InNamespaces(t, "--mount", "sh", "-c", `mount -t tmpfs none /var/run && exec "$@"`, "sh")
	folder, err := filepath.EvalSymlinks("/var/run") // a link would lead out of the server's own mounts
	assert.NoError(t, err)
	return wrap, func(s *Server) string { return fmt.Sprintf("/proc/%d/root%s/cog/ready", s.PID, folder) }
}
