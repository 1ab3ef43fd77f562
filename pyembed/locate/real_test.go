package locate

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// real is an interpreter of this machine and what it says of itself.
type real struct {
	path    string
	version string // "3.12"
	library string // absolute; empty where it has none
	old     bool
}

// reals finds the interpreters of this machine: pyenv's, and those of the system.
// What they say of themselves comes from sysconfig and is the yardstick of the tests.
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
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			resolved, err := filepath.EvalSymlinks(path)
			if _, ok := parseProgram(filepath.Base(path)); !ok || err != nil || seen[resolved] {
				continue
			}
			seen[resolved] = true
			if one, ok := describe(path); ok {
				found = append(found, one)
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
	one := real{path: path, version: lines[0], library: lines[1], old: lines[2] == "True"}
	if _, err := os.Stat(one.library); err != nil {
		one.library = ""
	}
	return one, true
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

func check(t *testing.T, one real, path string, inVenv bool) {
	t.Helper()
	got, err := findReal(path)
	switch {
	case one.old:
		wantError(t, got, err, ErrTooOld, "Python "+one.version)
		return
	case one.library == "":
		if !errors.Is(err, ErrNoLibPython) && !errors.Is(err, ErrFreeThreaded) {
			t.Errorf("%s has no library, and yet %+v, %v, want ErrNoLibPython or ErrFreeThreaded", path, got, err)
		}
		return
	case err != nil:
		t.Errorf("%s: %v", path, err)
		return
	}
	library, err := filepath.EvalSymlinks(got.LibPython)
	if err != nil {
		t.Fatal(err)
	}
	if library != one.library {
		t.Errorf("%s: library %s, sysconfig says %s, want the same", path, library, one.library)
	}
	if got.Version != one.version || got.Executable != path || got.Venv != inVenv {
		t.Errorf("%s: got %+v, want version %s, venv %v", path, got, one.version, inVenv)
	}
}

func TestReal_Interpreters(t *testing.T) {
	for _, one := range reals(t) {
		t.Run(one.path, func(t *testing.T) {
			check(t, one, one.path, false)
			// By the name that says nothing.
			if plain := filepath.Join(filepath.Dir(one.path), "python3"); executable(plain) == nil {
				if a, err := filepath.EvalSymlinks(plain); err == nil {
					if b, err := filepath.EvalSymlinks(one.path); err == nil && a == b {
						check(t, one, plain, false)
					}
				}
			}
		})
	}
}

func TestReal_Venvs(t *testing.T) {
	for _, one := range reals(t) {
		if one.old || one.library == "" {
			continue
		}
		for _, flags := range [][]string{nil, {"--copies"}, {"--system-site-packages"}} {
			t.Run(one.version+strings.Join(flags, ""), func(t *testing.T) {
				dir := makeVenv(t, one.path, flags...)
				for _, name := range []string{"python3", "python"} {
					check(t, one, filepath.Join(dir, "bin", name), true)
				}
			})
		}
	}
}

// TestReal_NestedVenv: an environment made by the Python of another one.
func TestReal_NestedVenv(t *testing.T) {
	one := usable(t)
	outer := makeVenv(t, one.path)
	inner := makeVenv(t, filepath.Join(outer, "bin/python3"), "--copies")
	check(t, one, filepath.Join(inner, "bin/python3"), true)
}

// TestReal_Shim starts a real interpreter through a script, as pyenv's shims do.
func TestReal_Shim(t *testing.T) {
	one := usable(t)
	shim := filepath.Join(t.TempDir(), "python3")
	if err := os.WriteFile(shim, []byte("#!/bin/sh\nexec \""+one.path+"\" \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	got, err := findReal(shim)
	if err != nil {
		t.Fatal(err)
	}
	if got.Executable != one.path || got.Version != one.version {
		t.Errorf("got %+v, want %s", got, one.path)
	}
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
	one, ok := describe(strings.TrimSpace(string(out)))
	if !ok || one.old || one.library == "" {
		t.Skipf("Pinion cannot use the python3 of the PATH: %+v", one)
	}
	got, err := Find(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if got.Executable != one.path || got.Version != one.version || got.Source != "PATH" {
		t.Errorf("got %+v, want %+v", got, one)
	}
}

// TestReal_Probe compares what the probe says with what the headers say.
func TestReal_Probe(t *testing.T) {
	for _, one := range reals(t) {
		if strings.HasPrefix(one.version, "2.") {
			continue // has no -I; it is refused by its name
		}
		f := newFinder(Options{}, thisHost())
		got, err := f.probe(one.path)
		if err != nil {
			t.Errorf("%s: %v", one.path, err)
			continue
		}
		if got.version.String() != one.version || got.implementation != "cpython" || got.executable != one.path {
			t.Errorf("%s: got %+v, want version %q, implementation cpython and executable %q", one.path, got, one.version,
				one.path)
		}
		if one.library != "" && !slices.ContainsFunc(got.libraries, func(name string) bool {
			path, err := filepath.EvalSymlinks(filepath.Join(got.libdir, name))
			return err == nil && path == one.library
		}) {
			t.Errorf("%s: got %v in %s, want %s", one.path, got.libraries, got.libdir, one.library)
		}
	}
}

// TestReal_NeedsNoProcess: the ordinary cases must not cost a start of Python.
func TestReal_NeedsNoProcess(t *testing.T) {
	for _, one := range reals(t) {
		if one.old || one.library == "" {
			continue
		}
		f := newFinder(Options{}, thisHost())
		in, err := f.identify(one.path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.library(in); err != nil {
			t.Fatal(err)
		}
		if in.facts != nil {
			t.Errorf("%s was started to find %s: got %+v, want nil", one.path, one.library, in.facts)
		}
	}
}

// usable returns one interpreter that Pinion can use.
func usable(t *testing.T) real {
	t.Helper()
	all := reals(t)
	at := slices.IndexFunc(all, func(one real) bool { return !one.old && one.library != "" })
	if at < 0 {
		t.Skip("no Python with a shared library on this machine")
	}
	return all[at]
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
