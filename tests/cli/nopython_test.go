package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// hideLibraries removes the shared libraries of Python from some folders, for one command that it then runs: each
// folder is covered by a writable layer in a mount namespace of the command's own.
const hideLibraries = `set -e
layers=$1
shift
mount -t tmpfs tmpfs "$layers"
while [ "$1" != -- ]; do
	layer=$layers/$(basename "$1")
	mkdir "$layer" "$layer/upper" "$layer/work"
	mount -t overlay overlay -o "lowerdir=$1,upperdir=$layer/upper,workdir=$layer/work" "$1"
	rm -f "$1"/libpython3*.so*
	shift
done
shift
exec "$@"`

// withoutLibraries is a command that runs where the folders have no libpython. The test is skipped where mounts are not
// allowed.
func withoutLibraries(t *testing.T, folders []string, args ...string) *exec.Cmd {
	t.Helper()
	hide := func(args ...string) *exec.Cmd {
		words := append([]string{"--mount", "--propagation", "private", "sh", "-c", hideLibraries, "hide", t.TempDir()},
			folders...)
		ctx, cancel := context.WithTimeout(context.Background(), harness.CliTimeout)
		t.Cleanup(cancel)
		return exec.CommandContext(ctx, "unshare", append(append(words, "--"), args...)...)
	}
	if out, err := hide("true").CombinedOutput(); err != nil {
		t.Skipf("only a user that may mount can hide a library: %v: %s", err, out)
	}
	return hide(args...)
}

// libraryFolders are the folders that have a shared library of this version: the Python's own, and the system's, which
// a loader takes where the Python's own is gone.
func libraryFolders(t *testing.T, base, version string) []string {
	t.Helper()
	var folders []string
	for _, pattern := range []string{base + "/lib", "/usr/lib/*-linux-gnu", "/usr/lib64", "/usr/local/lib"} {
		found := assert.Must(filepath.Glob(filepath.Join(pattern, "libpython"+version+".so*")))(t)
		for _, path := range found {
			if dir := filepath.Dir(path); !slices.Contains(folders, dir) {
				folders = append(folders, dir)
			}
		}
	}
	if len(folders) == 0 {
		t.Skipf("the library of the Python in %s is in an unusual place", base)
	}
	return folders
}

// TestNoPython_PythonWhoseLibraryIsRemoved: the server ends before it listens, and says what installs the library.
func TestNoPython_PythonWhoseLibraryIsRemoved(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		version, want := fmt.Sprintf("3.%d", python.Minor), "--enable-shared"
		switch {
		case strings.Contains(python.Base, "/.pyenv/versions/"):
			want = "PYTHON_CONFIGURE_OPTS=--enable-shared pyenv install --force " + filepath.Base(python.Base)
		case python.Base == "/usr":
			want = "libpython" + version
		}
		cmd := withoutLibraries(t, libraryFolders(t, python.Base, version), harness.Binary(t), "serve",
			harness.Example(t, "hello"),
			"--port", "0", "--python", python.Path)
		cmd.Env = append(harness.BareEnv(), "TMPDIR="+harness.ShortTempDir(t))
		out, err := cmd.CombinedOutput()
		assert.TrueNow(t, err != nil && cmd.ProcessState.ExitCode() == 2, "it ended with %v, want exit code 2:\n%s", err, out)
		for _, part := range []string{
			fmt.Sprintf("the Python %s at %s has no shared library libpython%s.so.1.0", version, python.Path, version), want,
			"--libpython PATH",
		} {
			assert.Contains(t, "the message", string(out), part)
		}
	})
}

// TestNoPython_SystemWithoutPython: the message names the packages of the system that the tests run on.
func TestNoPython_SystemWithoutPython(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(harness.Binary(t), "serve", harness.Example(t, "hello"), "--port", "0")
	cmd.Env = []string{"PATH=/nonexistent", "HOME=" + t.TempDir(), "TMPDIR=" + harness.ShortTempDir(t)}
	out, err := cmd.CombinedOutput()
	assert.TrueNow(t, err != nil && cmd.ProcessState.ExitCode() == 2, "it ended with %v, want exit code 2:\n%s", err, out)
	want := []string{"no python3 on the PATH (/nonexistent)"}
	if system, err := os.ReadFile("/etc/os-release"); err == nil && strings.Contains(string(system), "\nID=debian\n") {
		want = append(want, "apt-get install python3 libpython3")
	}
	for _, part := range want {
		assert.Contains(t, "the message", string(out), part)
	}
}
