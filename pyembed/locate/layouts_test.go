package locate

import (
	"debug/elf"
	"testing"

	"pinion/tests/assert"
)

// TestLayouts_OfInstallations builds the trees in which Pythons are found in the wild. No program
// in them can run, so an answer proves that none was needed.
func TestLayouts_OfInstallations(t *testing.T) {
	const so = "libpython3.12.so.1.0"
	for _, c := range []struct {
		name   string
		build  func(w *world) Options
		lib    string // relative to the world
		exe    string
		inVenv bool
	}{
		{"pyenv: DT_RUNPATH with an absolute folder", func(w *world) Options {
			w.lib("pyenv/versions/3.12.1/lib/" + so)
			w.elf("pyenv/versions/3.12.1/bin/python3.12",
				fakeELF{needed: []string{so, "libc.so.6"}, runpath: w.path("pyenv/versions/3.12.1/lib")})
			return Options{Python: w.link("pyenv/versions/3.12.1/bin/python3", "pyenv/versions/3.12.1/bin/python3.12")}
		}, "pyenv/versions/3.12.1/lib/" + so, "pyenv/versions/3.12.1/bin/python3", false},
		{"DT_RPATH with ${ORIGIN}", func(w *world) Options {
			w.lib("opt/lib/" + so)
			return Options{Python: w.elf("opt/bin/python3", fakeELF{needed: []string{so}, rpath: "/none:${ORIGIN}/../lib"})}
		}, "opt/lib/" + so, "opt/bin/python3", false},
		{"DT_RPATH is ignored beside DT_RUNPATH", func(w *world) Options {
			w.lib("old/" + so)
			w.lib("new/" + so)
			return Options{Python: w.elf("opt/bin/python3", fakeELF{needed: []string{so}, rpath: w.path("old"), runpath: w.path("new")})}
		}, "new/" + so, "opt/bin/python3", false},
		{"LD_LIBRARY_PATH before DT_RUNPATH", func(w *world) Options {
			w.lib("first/" + so)
			w.lib("second/" + so)
			w.vars["LD_LIBRARY_PATH"] = w.path("empty") + ":" + w.path("first")
			return Options{Python: w.elf("opt/bin/python3", fakeELF{needed: []string{so}, runpath: w.path("second")})}
		}, "first/" + so, "opt/bin/python3", false},
		{"official image: no run path, the folder is in ld.so.conf.d", func(w *world) Options {
			w.file("etc/ld.so.conf", "# comment\ninclude ld.so.conf.d/*.conf\n", 0o644)
			w.file("etc/ld.so.conf.d/libc.conf", "# default\n"+w.path("usr/local/lib")+"\n", 0o644)
			w.lib("usr/local/lib/" + so)
			return Options{Python: w.elf("usr/local/bin/python3.12", fakeELF{needed: []string{so}})}
		}, "usr/local/lib/" + so, "usr/local/bin/python3.12", false},
		{"an ld.so.conf that includes itself ends", func(w *world) Options {
			w.file("etc/ld.so.conf", "include "+w.path("etc/ld.so.conf")+"\n", 0o644)
			w.lib("usr/lib/" + so)
			return Options{Python: w.elf("usr/bin/python3.12", fakeELF{needed: []string{so}})}
		}, "usr/lib/" + so, "usr/bin/python3.12", false},
		{"Debian: linked in, the library is its own package", func(w *world) Options {
			w.lib("usr/lib/x86_64-linux-gnu/" + so)
			w.elf("usr/bin/python3.12", fakeELF{needed: []string{"libc.so.6"}})
			return Options{Python: w.link("usr/bin/python3", "usr/bin/python3.12")}
		}, "usr/lib/x86_64-linux-gnu/" + so, "usr/bin/python3", false},
		{"Debian venv --copies: the version is in pyvenv.cfg", func(w *world) Options {
			w.lib("usr/lib/x86_64-linux-gnu/" + so)
			w.elf("usr/bin/python3.12", fakeELF{})
			w.file("venv/pyvenv.cfg", "home = "+w.path("usr/bin")+"\nversion = 3.12.4\nexecutable = "+
				w.path("usr/bin/python3.12")+"\n", 0o644)
			return Options{Python: w.elf("venv/bin/python3", fakeELF{})}
		}, "usr/lib/x86_64-linux-gnu/" + so, "venv/bin/python3", true},
		{"3.10 venv --copies: pyvenv.cfg has no executable line", func(w *world) Options {
			w.lib("opt/lib/libpython3.10.so.1.0")
			w.elf("opt/bin/python3.10", fakeELF{needed: []string{"libpython3.10.so.1.0"}, runpath: "$ORIGIN/../lib"})
			w.file("venv/pyvenv.cfg", "home = "+w.path("opt/bin")+"\nversion = 3.10.13\n", 0o644)
			return Options{Python: w.elf("venv/bin/python", fakeELF{needed: []string{"libpython3.10.so.1.0"}, runpath: "$ORIGIN/../lib"})}
		}, "opt/lib/libpython3.10.so.1.0", "venv/bin/python", true},
		{"conda: linked in, the library in <prefix>/lib", func(w *world) Options {
			w.file("miniconda/conda-meta/history", "", 0o644)
			w.lib("miniconda/lib/" + so)
			w.elf("miniconda/bin/python3.12", fakeELF{rpath: "$ORIGIN/../lib"})
			return Options{Python: w.link("miniconda/bin/python", "miniconda/bin/python3.12")}
		}, "miniconda/lib/" + so, "miniconda/bin/python", false},
		{"uv venv: a link to a managed Python that has the library linked in", func(w *world) Options {
			const home = "uv/python/cpython-3.12.4-linux-x86_64-gnu"
			w.lib(home + "/lib/" + so)
			w.elf(home+"/bin/python3.12", fakeELF{})
			w.file("model/.venv/pyvenv.cfg",
				"home = "+w.path(home)+"/bin\nimplementation = CPython\nuv = 0.5.1\nversion_info = 3.12.4\n", 0o644)
			w.link("model/.venv/bin/python", home+"/bin/python3.12")
			w.link("model/.venv/bin/python3", "model/.venv/bin/python")
			return Options{}
		}, "uv/python/cpython-3.12.4-linux-x86_64-gnu/lib/" + so, "model/.venv/bin/python3", true},
		{"uv, older builds: $ORIGIN inside DT_NEEDED", func(w *world) Options {
			w.lib("uv/lib/" + so)
			return Options{Python: w.elf("uv/bin/python3.12", fakeELF{needed: []string{"$ORIGIN/../lib/" + so}})}
		}, "uv/lib/" + so, "uv/bin/python3.12", false},
		{"lib64", func(w *world) Options {
			w.lib("opt/lib64/" + so)
			return Options{Python: w.elf("opt/bin/python3.12", fakeELF{})}
		}, "opt/lib64/" + so, "opt/bin/python3.12", false},
		{"a debug build", func(w *world) Options {
			w.lib("opt/lib/libpython3.12d.so.1.0")
			return Options{Python: w.elf("opt/bin/python3.12d", fakeELF{})}
		}, "opt/lib/libpython3.12d.so.1.0", "opt/bin/python3.12d", false},
		{"what is not a library for this processor is passed over", func(w *world) Options {
			w.elf("a/"+so, fakeELF{machine: elf.EM_SPARCV9})
			w.file("b/"+so, "/* GNU ld script */ INPUT(x)", 0o644)
			w.lib("c/" + so)
			return Options{Python: w.elf("opt/bin/python3", fakeELF{needed: []string{so}, runpath: w.path("a") + ":" + w.path("b") + ":" + w.path("c")})}
		}, "c/" + so, "opt/bin/python3", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			got := assert.Must(w.find(c.build(w)))(t)
			assert.Equal(t, "library", got.LibPython, w.path(c.lib))
			assert.Equal(t, "executable", got.Executable, w.path(c.exe))
			assert.Equal(t, "venv", got.Venv, c.inVenv)
		})
	}
}

// TestLayouts_Refused: what can be told from headers and names alone.
func TestLayouts_Refused(t *testing.T) {
	other := elf.EM_AARCH64
	if thisHost().machine == other {
		other = elf.EM_X86_64
	}
	for _, c := range []struct {
		name  string
		build func(w *world) Options
		kind  error
		words []string
	}{
		{"3.9 by soname", func(w *world) Options {
			return Options{Python: w.elf("opt/bin/python3", fakeELF{needed: []string{"libpython3.9.so.1.0"}})}
		}, ErrTooOld, []string{"opt/bin/python3 is Python 3.9", "3.10 or newer"}},
		{"2.7 by name", func(w *world) Options { return Options{Python: w.elf("opt/bin/python2.7", fakeELF{})} }, ErrTooOld, []string{"Python 2.7"}},
		{"3.7 with an m", func(w *world) Options {
			return Options{Python: w.elf("opt/bin/python3", fakeELF{needed: []string{"libpython3.7m.so.1.0"}})}
		}, ErrTooOld, []string{"Python 3.7"}},
		{"free-threaded by soname", func(w *world) Options {
			return Options{Python: w.elf("opt/bin/python3", fakeELF{needed: []string{"libpython3.13t.so.1.0"}})}
		}, ErrFreeThreaded, []string{"free-threaded", "3.13", "ordinary build"}},
		{"free-threaded by name", func(w *world) Options {
			w.lib("opt/lib/libpython3.13t.so.1.0")
			w.elf("opt/bin/python3.13t", fakeELF{})
			return Options{Python: w.link("opt/bin/python3", "opt/bin/python3.13t")}
		}, ErrFreeThreaded, []string{"free-threaded", "3.13", "3.14t"}},
		{"another processor", func(w *world) Options {
			return Options{Python: w.elf("opt/bin/python3", fakeELF{machine: other, needed: []string{"libpython3.12.so.1.0"}})}
		}, ErrWrongPlatform, []string{"processor", other.String()}},
		{"musl", func(w *world) Options {
			return Options{Python: w.elf("opt/bin/python3", fakeELF{interp: "/lib/ld-musl-x86_64.so.1", needed: []string{"libpython3.12.so.1.0"}})}
		}, ErrWrongPlatform, []string{"C libraries", "ld-musl-x86_64.so.1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			got, err := w.find(c.build(w))
			wantError(t, got, err, c.kind, c.words...)
		})
	}
}

// TestLayouts_FreeThreaded: the builds from 3.14 on are found by the library that they need, or by their name.
func TestLayouts_FreeThreaded(t *testing.T) {
	for _, c := range []struct {
		name  string
		build func(w *world) string
	}{
		{"by soname", func(w *world) string {
			return w.elf("opt/bin/python3", fakeELF{needed: []string{"libpython3.14t.so.1.0"}})
		}},
		{"by name", func(w *world) string {
			w.elf("opt/bin/python3.14t", fakeELF{})
			return w.link("opt/bin/python3", "opt/bin/python3.14t")
		}},
		{"a script", func(w *world) string {
			return w.file("opt/bin/python3", answer("version=3.14", "implementation=cpython", "free_threaded=1", "abiflags=t",
				"prefix="+w.path("opt")), 0o755)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.lib("opt/lib/libpython3.14.so.1.0")
			lib := w.lib("opt/lib/libpython3.14t.so.1.0")
			got := assert.Must(w.find(Options{Python: c.build(w)}))(t)
			assert.Equal(t, "LibPython", got.LibPython, lib)
			assert.Equal(t, "Version", got.Version, "3.14t")
		})
	}
}

func TestLayouts_GivenLibrary(t *testing.T) {
	w := newWorld(t)
	program := shared(w, "opt")
	good := w.lib("elsewhere/libpython3.12.so.1.0")
	stub := w.elf("elsewhere/libpython3.so", fakeELF{soname: "libpython3.so", needed: []string{"libpython3.12.so.1.0"}})
	renamed := w.elf("elsewhere/mine.so", fakeELF{soname: "libpython3.12.so.1.0"})
	for name, want := range map[string]string{good: good, stub: stub, renamed: renamed, "libpython3.12.so.1.0": "libpython3.12.so.1.0"} {
		got, err := w.find(Options{Python: program, LibPython: name})
		if err != nil {
			t.Errorf("%s: got %v, want no error", name, err)
		} else if got.LibPython != want {
			t.Errorf("%s: got %s, want %q", name, got.LibPython, want)
		}
	}
	other := elf.EM_SPARCV9
	for _, c := range []struct {
		name string
		kind error
		word string
	}{
		{w.path("none.so"), ErrNoLibPython, "not a shared library"},
		{w.file("text.so", "hello", 0o644), ErrNoLibPython, "not a shared library"},
		{w.lib("libm.so.6"), ErrNoLibPython, "some other library (libm.so.6)"},
		{program, ErrNoLibPython, "--libpython"},
		{w.elf("prog", fakeELF{kind: elf.ET_EXEC}), ErrNoLibPython, "a program"},
		{w.lib("libpython3.11.so.1.0"), ErrNoLibPython, "is Python 3.11, and the interpreter " + program + " is Python 3.12"},
		{"libpython3.13.so.1.0", ErrNoLibPython, "is Python 3.13"},
		{"libfoo", ErrNoLibPython, "nor the name of a libpython"},
		{w.lib("libpython3.12t.so.1.0"), ErrFreeThreaded, "free-threaded"},
		{
			w.lib("libpython3.14t.so.1.0"), ErrNoLibPython,
			"is Python 3.14t, and the interpreter " + program + " is Python 3.12",
		},
		{w.lib("libpython3.8.so.1.0"), ErrTooOld, "3.8"},
		{w.elf("far/libpython3.12.so.1.0", fakeELF{machine: other}), ErrWrongPlatform, "processor"},
	} {
		got, err := w.find(Options{Python: program, LibPython: c.name})
		wantError(t, got, err, c.kind, c.word)
	}
}
