package harness

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"pinion/tests/assert"
)

// Python is an interpreter to test with.
type Python struct {
	Path    string `json:"-"`
	Version string `json:"version"` // "3.12.1"
	Minor   int    `json:"minor"`
	Base    string `json:"base"` // sys.base_prefix
	Shared  bool   `json:"shared"`
	// FreeThreaded means a build without a GIL.
	FreeThreaded bool `json:"free_threaded"`
}

// Name returns the name of a test with this Python.
func (p Python) Name() string {
	switch {
	case p.FreeThreaded:
		return p.Version + "t"
	case p.Base == "/usr":
		return p.Version + "-system"
	}
	return p.Version
}

const probe = `import json, sys, sysconfig
name = "libpython%d.%d%s.so.1.0" % (*sys.version_info[:2], sys.abiflags)
free = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
try:
    import ctypes
    shared = any(ctypes.CDLL(f + name) for f in [sys.base_prefix + "/lib/"] if __import__("os").path.exists(f + name))
    if not shared:
        ctypes.CDLL(name)
        shared = True
except OSError:
    shared = False
print(json.dumps({"version": "%d.%d.%d" % sys.version_info[:3], "minor": sys.version_info[1], "base": sys.base_prefix,
    "free_threaded": free, "shared": shared and sys.version_info >= (3, 14 if free else 10)}))`

// Pythons returns all interpreters to test with: those that PINION_TEST_PYTHONS lists, else pyenv's and the system's
// that have a shared library. It fails where there is none.
func Pythons(t testing.TB) []Python {
	t.Helper()
	found := pythons()
	assert.TrueNow(t, len(found) != 0,
		"got no Python, want one: set %s, or install a CPython from 3.10 on with its library", envPythons)
	return found
}

// AnyPython returns the interpreter for tests where its version does not matter. Such a test is skipped in a run that
// only adds further Pythons.
func AnyPython(t testing.TB) Python {
	t.Helper()
	if os.Getenv(envEachOnly) == "1" {
		t.Skip("its Python does not matter, and this run is for what tests each Python")
	}
	return Pythons(t)[0]
}

// OldestPython returns the oldest of Pythons.
func OldestPython(t testing.TB) Python { t.Helper(); return slices.MinFunc(Pythons(t), byVersion) }

// NewestPython returns the newest.
func NewestPython(t testing.TB) Python { t.Helper(); return slices.MaxFunc(Pythons(t), byVersion) }

// SmokePythons returns the interpreters that serve only one model of each kind: those that PINION_TEST_SMOKE_PYTHONS
// lists. Without any they are those that are tested in full.
func SmokePythons(t testing.TB) []Python {
	t.Helper()
	if listed := usable(os.Getenv(envSmokePythons)); len(listed) > 0 {
		return listed
	}
	return Pythons(t)
}

// FreeThreadedPythons returns the builds without a GIL that PINION_TEST_FREE_THREADED lists: those that full runs
// compile. Without any the test is skipped.
func FreeThreadedPythons(t testing.TB) []Python {
	t.Helper()
	found := usable(os.Getenv(envFreeThreaded))
	if len(found) == 0 {
		t.Skipf("%s lists no Python: ./build.sh test-full compiles 3.14t and 3.15t", envFreeThreaded)
	}
	return found
}

func byVersion(a, b Python) int { return a.Minor - b.Minor }

// EachPython runs a test once for every interpreter.
func EachPython(t *testing.T, test func(t *testing.T, python Python)) {
	t.Helper()
	for _, python := range Pythons(t) {
		t.Run(python.Name(), func(t *testing.T) {
			t.Parallel()
			test(t, python)
		})
	}
}

// pythons asks every candidate once.
var pythons = sync.OnceValue(func() []Python {
	listed := os.Getenv(envPythons)
	if listed == "" {
		// a fixed pattern
		candidates, _ := filepath.Glob(filepath.Join(os.Getenv("HOME"), ".pyenv/versions/3.1[0-9].*/bin/python3"))
		listed = strings.Join(append(candidates, "/usr/bin/python3"), ":")
	}
	return usable(listed)
})

// usable returns the interpreters of a list that can be embedded.
func usable(list string) (found []Python) {
	for _, path := range strings.Split(list, ":") {
		if p, ok := ask(path); ok && p.Shared {
			found = append(found, p)
		}
	}
	return found
}

// ask starts an interpreter and asks what it is.
func ask(path string) (Python, bool) {
	p := Python{Path: path}
	command := exec.Command(path, "-I", "-S", "-c", probe)
	command.Env = BareEnv()
	out, err := command.Output()
	return p, err == nil && json.Unmarshal(out, &p) == nil
}

// sanitizers are the variables that a binary under test needs when it was built with sanitizers.
var sanitizers = []string{"ASAN_OPTIONS", "UBSAN_OPTIONS", "PYTHONMALLOC", "GORACE"}

// BareEnv returns an environment without anything that speaks to Python, to Pinion or to Cog, except for what
// sanitizers are told.
func BareEnv() []string {
	env := []string{
		"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + os.Getenv("HOME"), "LANG=C.UTF-8",
		"XDG_CACHE_HOME=" + os.Getenv(envCache),
	}
	for _, name := range sanitizers {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// Venv makes a virtual environment of an interpreter, with the flags given to its venv module, and returns its python.
func Venv(t testing.TB, python Python, flags ...string) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "venv")
	command := exec.Command(python.Path, append(append([]string{"-m", "venv", "--without-pip"}, flags...), folder)...)
	command.Env = BareEnv()
	out, err := command.CombinedOutput()
	assert.NoError(t, err, "make virtual environment", out)
	return filepath.Join(folder, "bin", "python")
}

// RunPython runs a script under plain Python in a folder, and returns what it printed.
func RunPython(t testing.TB, python, folder string, env []string, arguments ...string) []byte {
	t.Helper()
	command := exec.Command(python, arguments...)
	command.Dir = folder
	command.Env = append(BareEnv(), env...)
	out, err := command.Output()
	if err != nil {
		if failed, ok := errors.AsType[*exec.ExitError](err); ok {
			out = failed.Stderr
		}
		t.Fatalf("%s %v: got %v, want no error\n%s", python, arguments, err, out)
	}
	return out
}

// Has reports whether an interpreter has a module.
func Has(python Python, module string) bool {
	command := exec.Command(python.Path, "-c", "import "+module)
	command.Env = BareEnv()
	return command.Run() == nil
}
