//go:build pinion_test

package cuda

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// compile runs the C compiler; the output is out.
func compile(t *testing.T, out string, args ...string) {
	t.Helper()
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "cc"
	}
	if _, err := exec.LookPath(cc); err != nil {
		t.Skipf("no C compiler: %v", err)
	}
	args = append([]string{"-std=c11", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-o", out}, args...)
	if text, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
		t.Fatalf("compile %s: got %v, want no error\n%s", filepath.Base(out), err, text)
	}
}

// fakeDriver compiles testdata/fakecuda.c.
func fakeDriver(t *testing.T, flags ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "libcuda.so.1")
	compile(t, out, append(flags, "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "testdata/fakecuda.c")...)
	return out
}
