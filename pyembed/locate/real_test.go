package locate

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pinion/tests/assert"
)

// real is an interpreter of this machine and what it says of itself.
type real struct {
	path    string
	version string // "3.12"
	library string // absolute; empty where it has none
	old     bool
}

// reals finds the interpreters of this machine: pyenv's, and those of the system.
// What they say of themselves comes from sysconfig and is what the tests expect.
func reals(t *testing.T) []real {
	t.Helper()
	patterns := []string{"/usr/bin/python[23].*[0-9]", "/usr/local/bin/python3.*[0-9]", "/opt/*/bin/python3.*[0-9]"}
	if home, err := os.UserHomeDir(); err == nil {
		patterns = append(patterns, filepath.Join(home, ".pyenv/versions/*/bin/python[23].*[0-9]"),
			filepath.Join(home, ".local/share/uv/python/*/bin/python3.*[0-9]"))
	}
	var found []real
	seen := map[string]bool{}
	for _, pattern := range patterns {
		paths := assert.Must(filepath.Glob(pattern))(t)
		for _, path := range paths {
			resolved, err := filepath.EvalSymlinks(path)
			if _, ok := parseProgram(filepath.Base(path)); !ok || err != nil || seen[resolved] {
				continue
			}
			seen[resolved] = true
			if python, ok := describe(path); ok {
				found = append(found, python)
			}
		}
	}
	if len(found) == 0 {
		t.Skip("no Python on this machine")
	}
	return found
}

// describe asks an interpreter; not with the program that the package itself uses.
func describe(path string) (real, bool) {
	out, err := exec.Command(path, "-S", "-c", `import sys, os, sysconfig
v = sysconfig.get_config_var
name = v("INSTSONAME") or ""
print("%d.%d" % sys.version_info[:2])
print(os.path.realpath(os.path.join(v("LIBDIR") or "", name)) if ".so" in name else "")
print(sys.version_info < (3, 10))`).Output()
	lines := strings.Split(string(out), "\n")
	if err != nil || len(lines) < 3 {
		return real{}, false
	}
	described := real{path: path, version: lines[0], library: lines[1], old: lines[2] == "True"}
	if _, err := os.Stat(described.library); err != nil {
		described.library = ""
	}
	return described, true
}

// findReal searches with an environment that chooses nothing.
func findReal(path string) (*Python, error) {
	return Find(Options{Python: path, Env: func(name string) string {
		if name == "PATH" {
			return os.Getenv("PATH")
		}
		return ""
	}})
}

func check(t *testing.T, want real, path string, inVenv bool) {
	t.Helper()
	got, err := findReal(path)
	switch {
	case want.old:
		wantError(t, got, err, ErrTooOld, "Python "+want.version)
		return
	case want.library == "":
		if !errors.Is(err, ErrNoLibPython) && !errors.Is(err, ErrFreeThreaded) {
			t.Errorf("%s has no library, and yet %+v, %v, want ErrNoLibPython or ErrFreeThreaded", path, got, err)
		}
		return
	case err != nil:
		t.Errorf("%s: got %v, want no error", path, err)
		return
	}
	library := assert.Must(filepath.EvalSymlinks(got.LibPython))(t)
	assert.Equal(t, path+": library , sysconfig", library, want.library)
	if got.Version != want.version || got.Executable != path || got.Venv != inVenv {
		t.Errorf("%s: got %+v, want version %s, venv %v", path, got, want.version, inVenv)
	}
}

func TestReal_Interpreters(t *testing.T) {
	for _, python := range reals(t) {
		t.Run(python.path, func(t *testing.T) {
			check(t, python, python.path, false)
			// By the name that says nothing.
			if plain := filepath.Join(filepath.Dir(python.path), "python3"); executable(plain) == nil {
				if a, err := filepath.EvalSymlinks(plain); err == nil {
					if b, err := filepath.EvalSymlinks(python.path); err == nil && a == b {
						check(t, python, plain, false)
					}
				}
			}
		})
	}
}

func TestReal_Venvs(t *testing.T) {
	for _, python := range reals(t) {
		if python.old || python.library == "" {
			continue
		}
		for _, flags := range [][]string{nil, {"--copies"}, {"--system-site-packages"}} {
			t.Run(python.version+strings.Join(flags, ""), func(t *testing.T) {
				dir := makeVenv(t, python.path, flags...)
				for _, name := range []string{"python3", "python"} {
					check(t, python, filepath.Join(dir, "bin", name), true)
				}
			})
		}
	}
}

// TestReal_NestedVenv: an environment made by the Python of another one.
func TestReal_NestedVenv(t *testing.T) {
	python := usable(t)
	outer := makeVenv(t, python.path)
	inner := makeVenv(t, filepath.Join(outer, "bin/python3"), "--copies")
	check(t, python, filepath.Join(inner, "bin/python3"), true)
}

// TestReal_Shim starts a real interpreter through a script, as pyenv's shims do.
func TestReal_Shim(t *testing.T) {
	python := usable(t)
	shim := filepath.Join(t.TempDir(), "python3")
	assert.NoError(t, os.WriteFile(shim, []byte("#!/bin/sh\nexec \""+python.path+"\" \"$@\"\n"), 0o755))
	got := assert.Must(findReal(shim))(t)
	assert.Equal(t, "Executable", got.Executable, python.path)
	assert.Equal(t, "Version", got.Version, python.version)
}

// TestReal_Default takes the python3 of the real PATH, which may be a shim.
func TestReal_Default(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command("python3", "-c", "import sys; print(sys.executable)")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("no python3 on the PATH that runs: %v", err)
	}
	t.Setenv("PINION_PYTHON", "")
	t.Setenv("VIRTUAL_ENV", "")
	python, ok := describe(strings.TrimSpace(string(out)))
	if !ok || python.old || python.library == "" {
		t.Skipf("Pinion cannot use the python3 of the PATH: %+v", python)
	}
	got := assert.Must(Find(Options{Dir: dir}))(t)
	if got.Executable != python.path || got.Version != python.version || got.Source != "PATH" {
		t.Errorf("got %+v, want %+v", got, python)
	}
}

// TestReal_Probe compares what the probe says with what the headers say.
func TestReal_Probe(t *testing.T) {
	for _, python := range reals(t) {
		if strings.HasPrefix(python.version, "2.") {
			continue // has no -I; it is refused by its name
		}
		f := newFinder(Options{}, thisHost())
		got, err := f.probe(python.path)
		if err != nil {
			t.Errorf("%s: got %v, want no error", python.path, err)
			continue
		}
		assert.Equal(t, python.path+": got.version.String()", got.version.String(), python.version)
		assert.Equal(t, python.path+": got.implementation", got.implementation, "cpython")
		assert.Equal(t, python.path+": got.executable", got.executable, python.path)
		if python.library != "" && !slices.ContainsFunc(got.libraries, func(name string) bool {
			path, err := filepath.EvalSymlinks(filepath.Join(got.libdir, name))
			return err == nil && path == python.library
		}) {
			t.Errorf("%s: got %v in %s, want %s", python.path, got.libraries, got.libdir, python.library)
		}
	}
}

// TestReal_NeedsNoProcess: the ordinary cases must not cost a start of Python.
func TestReal_NeedsNoProcess(t *testing.T) {
	for _, python := range reals(t) {
		if python.old || python.library == "" {
			continue
		}
		f := newFinder(Options{}, thisHost())
		in := assert.Must(f.identify(python.path))(t)
		if _, err := f.library(in); err != nil {
			t.Fatal(err)
		}
		if in.facts != nil {
			t.Errorf("%s was started to find %s: got %+v, want nil", python.path, python.library, in.facts)
		}
	}
}

// usable returns one interpreter that Pinion can use.
func usable(t *testing.T) real {
	t.Helper()
	pythons := reals(t)
	at := slices.IndexFunc(pythons, func(python real) bool { return !python.old && python.library != "" })
	if at < 0 {
		t.Skip("no Python with a shared library on this machine")
	}
	return pythons[at]
}

func makeVenv(t *testing.T, python string, flags ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "venv")
	args := append([]string{"-m", "venv", "--without-pip"}, flags...)
	if out, err := exec.Command(python, append(args, dir)...).CombinedOutput(); err != nil {
		t.Skipf("%s can't make a venv: %v: %s", python, err, out)
	}
	return dir
}

func BenchmarkFind(b *testing.B) {
	for _, path := range []string{"/usr/bin/python3"} {
		if executable(path) != nil {
			b.Skip("no " + path)
		}
		b.Run(path, func(b *testing.B) {
			for b.Loop() {
				if _, err := findReal(path); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
