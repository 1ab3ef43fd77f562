package locate

import (
	"fmt"
	"os"
	"testing"

	"pinion/tests/assert"
)

// answer is a script that answers as an interpreter would, with what a wrapper
// might print around it. It stands for a pyenv, asdf or mise shim.
func answer(values ...string) string {
	text := "#!/bin/sh\necho starting python\n"
	for _, value := range values {
		text += fmt.Sprintf("echo '%s%s'\n", probeMark, value)
	}
	return text + "echo done\n"
}

func TestProbe_Shim(t *testing.T) {
	w := newWorld(t)
	real := shared(w, "versions/3.12.1")
	shim := w.file("shims/python3", answer("executable="+real, "implementation=cpython", "version=3.12"), 0o755)
	w.vars["PATH"] = w.path("shims")
	got := assert.Must(w.find(Options{}))(t)
	if got.Executable != real || got.LibPython != w.path("versions/3.12.1/lib/libpython3.12.so.1.0") ||
		got.Source != "PATH" {
		t.Errorf("for %s: got %+v, want Executable %q, LibPython %q and Source PATH", shim, got, real,
			w.path("versions/3.12.1/lib/libpython3.12.so.1.0"))
	}
}

// TestProbe_ShimRunsInModelFolder: pyenv and its like choose by folder.
func TestProbe_ShimRunsInModelFolder(t *testing.T) {
	w := newWorld(t)
	real := shared(w, "opt")
	w.file("model/.python", real+"\n", 0o644)
	shim := w.file("shims/python3", "#!/bin/sh\nread -r path <.python\necho \""+probeMark+"executable=$path\"\n"+
		"echo '"+probeMark+"implementation=cpython'\necho '"+probeMark+"version=3.12'\n", 0o755)
	got := assert.Must(w.find(Options{Python: shim}))(t)
	assert.Equal(t, fmt.Sprintf("%+v", got), got.Executable, real)
}

// TestProbe_ShimIntoVenv: the environment around the real program is seen.
func TestProbe_ShimIntoVenv(t *testing.T) {
	w := newWorld(t)
	shared(w, "opt")
	real := w.link("env/bin/python3", "opt/bin/python3")
	w.file("env/pyvenv.cfg", "home = "+w.path("opt/bin")+"\n", 0o644)
	shim := w.file("shims/python3", answer("executable="+real, "implementation=cpython", "version=3.12"), 0o755)
	got := assert.Must(w.find(Options{Python: shim}))(t)
	if got.Executable != real || !got.Venv {
		t.Errorf("got %+v, want the executable %s and a virtual environment", got, real)
	}
}

// TestProbe_Wrapper: a script that stays what it is gives its library by sysconfig.
func TestProbe_Wrapper(t *testing.T) {
	w := newWorld(t)
	lib := w.lib("odd/place/libpython3.12.so.1.0")
	path := w.path("bin/python3")
	w.file("bin/python3", answer("executable="+path, "implementation=cpython", "version=3.12", "free_threaded=0",
		"abiflags=",
		"prefix="+w.path("nowhere"), "libdir="+w.path("odd/place"), "instsoname=libpython3.12.so.1.0",
		"ldlibrary=libpython3.12.so"), 0o755)
	got := assert.Must(w.find(Options{Python: path}))(t)
	assert.Equal(t, "Executable", got.Executable, path)
	assert.Equal(t, "LibPython", got.LibPython, lib)
}

func TestProbe_Refused(t *testing.T) {
	for _, c := range []struct {
		name   string
		script string
		kind   error
		words  []string
	}{
		{
			"it fails", "#!/bin/sh\necho 'pyenv: version 3.99 is not installed' >&2\nexit 1\n", ErrNoPython,
			[]string{"bin/python3", "does not run", "pyenv: version 3.99 is not installed"},
		},
		{"it says nothing", "#!/bin/sh\nexit 0\n", ErrNoPython, []string{"without an answer"}},
		{"it is not a script", "just text", ErrNoPython, []string{"does not run"}},
		{"too old", answer("version=3.9", "implementation=cpython"), ErrTooOld, []string{"Python 3.9"}},
		{"Python 2", answer("version=2.7", "implementation="), ErrTooOld, []string{"Python 2.7"}},
		{
			"free-threaded", answer("version=3.13", "implementation=cpython", "free_threaded=1", "abiflags=t"), ErrFreeThreaded,
			[]string{"free-threaded"},
		},
		{
			"free-threaded by config alone", answer("version=3.13", "implementation=cpython", "free_threaded=1", "abiflags="),
			ErrFreeThreaded,
			[]string{"free-threaded"},
		},
		{"PyPy", answer("version=3.10", "implementation=pypy"), ErrNotCPython, []string{"is pypy", "CPython only"}},
		{
			"no library", answer("version=3.12", "implementation=cpython", "instsoname=libpython3.12.a", "libdir=/nonexistent"),
			ErrNoLibPython,
			[]string{"has no shared library libpython3.12.so.1.0", "--libpython PATH", "--enable-shared"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			got, err := w.find(Options{Python: w.file("bin/python3", c.script, 0o755)})
			wantError(t, got, err, c.kind, c.words...)
		})
	}
}

// TestProbe_NoLibPython: the fix fits where the interpreter comes from. The programs
// are scripts, as only something that runs gets as far as this error.
func TestProbe_NoLibPython(t *testing.T) {
	for _, c := range []struct {
		name  string
		place string
		extra func(w *world)
		words []string
	}{
		{
			"pyenv by folder", "home/.pyenv/versions/3.12.1", nil,
			[]string{"PYTHON_CONFIGURE_OPTS=--enable-shared pyenv install --force 3.12.1"},
		},
		{
			"pyenv by PYENV_ROOT", "opt/pyenv/versions/3.12.1", func(w *world) { w.vars["PYENV_ROOT"] = w.path("opt/pyenv") },
			[]string{"PYTHON_CONFIGURE_OPTS=--enable-shared pyenv install --force 3.12.1"},
		},
		{
			"conda", "conda", func(w *world) { w.file("conda/conda-meta/history", "", 0o644) },
			[]string{"conda install --prefix"},
		},
		{
			"another one's library", "opt/python", func(w *world) { w.lib("usr/lib/libpython3.12.so.1.0") },
			[]string{"usr/lib/libpython3.12.so.1.0 belongs to another installation"},
		},
		{"anything", "opt/python", nil, []string{"--enable-shared"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			if c.extra != nil {
				c.extra(w)
			}
			script := w.file(c.place+"/bin/python3", answer("version=3.12", "implementation=cpython", "prefix="+w.path(c.place)),
				0o755)
			got, err := w.find(Options{Python: script})
			wantError(t, got, err, ErrNoLibPython, append(c.words, "libpython3.12.so.1.0", "--libpython PATH")...)
		})
	}
}

// TestProbe_OnlyFreeThreadedLibrary: the library of a free-threaded build does not fit a program with a GIL.
func TestProbe_OnlyFreeThreadedLibrary(t *testing.T) {
	w := newWorld(t)
	w.lib("opt/lib/libpython3.13t.so.1.0")
	script := w.file("opt/bin/python3", answer("version=3.13", "implementation=cpython", "prefix="+w.path("opt")), 0o755)
	got, err := w.find(Options{Python: script})
	wantError(t, got, err, ErrNoLibPython, "has no shared library libpython3.13.so.1.0")
}

// TestProbe_ShimLeavesChild: a shim whose grandchild holds the pipe does not hold us.
func TestProbe_ShimLeavesChild(t *testing.T) {
	w := newWorld(t)
	real := shared(w, "opt")
	script := answer("executable="+real, "implementation=cpython", "version=3.12") + "/bin/sleep 60 & echo $! > " +
		w.path("pid") + "\n"
	path := w.file("shims/python3", script, 0o755)
	t.Cleanup(func() { endChild(w.path("pid")) })
	got := assert.Must(w.find(Options{Python: path}))(t)
	assert.Equal(t, fmt.Sprintf("%+v", got), got.Executable, real)
}

// endChild ends the process whose id a test's script wrote.
func endChild(file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		return
	}
	var pid int
	if _, err := fmt.Sscan(string(text), &pid); err != nil {
		return
	}
	if process, err := os.FindProcess(pid); err == nil {
		_ = process.Kill()
	}
}
