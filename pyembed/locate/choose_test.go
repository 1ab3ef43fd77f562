package locate

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"pinion/tests/assert"
)

// shared makes an --enable-shared Python 3.12 under prefix and returns its program.
func shared(w *world, prefix string) string {
	w.lib(prefix + "/lib/libpython3.12.so.1.0")
	return w.elf(prefix+"/bin/python3", fakeELF{needed: []string{"libpython3.12.so.1.0"}, runpath: "$ORIGIN/../lib"})
}

// TestChoose_Order takes the sources away one by one, from the strongest on.
func TestChoose_Order(t *testing.T) {
	w := newWorld(t)
	flag := shared(w, "flag")
	env := shared(w, "env")
	active := shared(w, "active")
	local := shared(w, "model/.venv")
	own := shared(w, "own")
	w.file("own/pyvenv.cfg", "home = "+w.path("own/bin")+"\n", 0o644)
	w.host.self = w.path("own/bin/pinion")
	path := shared(w, "path")
	w.vars["PINION_PYTHON"] = env
	w.vars["VIRTUAL_ENV"] = w.path("active")
	w.vars["PATH"] = w.path("nowhere") + ":" + w.path("path/bin")

	check := func(o Options, want, source string) {
		t.Helper()
		got, err := w.find(o)
		assert.NoError(t, err, source)
		assert.Equal(t, "Executable", got.Executable, want)
		assert.Equal(t, "Source", got.Source, source)
	}
	check(Options{Python: flag}, flag, "--python")
	check(Options{}, env, "PINION_PYTHON")
	delete(w.vars, "PINION_PYTHON")
	check(Options{}, active, "VIRTUAL_ENV")
	delete(w.vars, "VIRTUAL_ENV")
	check(Options{}, local, ".venv")
	assert.NoError(t, os.RemoveAll(w.path("model/.venv")))
	check(Options{}, own, ownSource)
	assert.NoError(t, os.Remove(w.path("own/pyvenv.cfg")))
	check(Options{}, path, "PATH")
}

// TestChoose_OwnEnvironment: pinion takes the Python of the environment that it is installed in, unless that is made
// for commands.
func TestChoose_OwnEnvironment(t *testing.T) {
	for name, c := range map[string]struct {
		marks []string
		self  string
		own   bool
	}{
		"venv":            {[]string{"pyvenv.cfg"}, "env/bin/pinion", true},
		"conda":           {[]string{"conda-meta/history"}, "env/bin/pinion", true},
		"no environment":  {nil, "env/bin/pinion", false},
		"another folder":  {[]string{"pyvenv.cfg"}, "env/share/pinion", false},
		"pipx":            {[]string{"pyvenv.cfg", "pipx_metadata.json"}, "env/bin/pinion", false},
		"uv tool":         {[]string{"pyvenv.cfg", "uv-receipt.toml"}, "env/bin/pinion", false},
		"it is not known": {[]string{"pyvenv.cfg"}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			want, source := shared(w, "usr"), "PATH"
			w.vars["PATH"] = w.path("usr/bin")
			own := shared(w, "env")
			for _, mark := range c.marks {
				w.file("env/"+mark, "", 0o644)
			}
			if c.self != "" {
				w.host.self = w.path(c.self)
			}
			if c.own {
				want, source = own, ownSource
			}
			got, err := w.find(Options{})
			if err != nil || got.Executable != want || got.Source != source {
				t.Errorf("got %+v, %v, want %s from %s", got, err, want, source)
			}
		})
	}
}

// TestChoose_OwnEnvironmentBroken is an error, as of any other choice.
func TestChoose_OwnEnvironmentBroken(t *testing.T) {
	w := newWorld(t)
	w.file("env/pyvenv.cfg", "", 0o644)
	w.link("env/bin/python3", "gone/python3.12")
	w.host.self = w.path("env/bin/pinion")
	got, err := w.find(Options{})
	wantError(t, got, err, ErrNoPython, "pinion is installed in the environment "+w.path("env"), "is a link to",
		w.path("gone/python3.12"), "--python PATH")
}

func TestChoose_Named(t *testing.T) {
	w := newWorld(t)
	program := shared(w, "opt")
	w.vars["PATH"] = w.path("opt/bin")
	t.Chdir(w.root)
	for _, name := range []string{program, "opt/bin/python3", "./opt/bin/../bin/python3", "python3", w.path("opt"), "opt"} {
		got, err := w.find(Options{Python: name})
		if err != nil {
			t.Errorf("--python %s: got %v, want no error", name, err)
			continue
		}
		assert.Equal(t, "--python "+name, got.Executable, program)
	}
}

// TestChoose_NoPython walks what a user can get wrong. Every message names the file and
// what to do.
func TestChoose_NoPython(t *testing.T) {
	w := newWorld(t)
	w.file("notexec", "#!/bin/sh\n", 0o644)
	w.link("dangling/bin/python3", "gone/python3.12")
	w.file("dangling/pyvenv.cfg", "home = "+w.path("gone")+"\n", 0o644)
	w.elf("orphan/bin/python3", fakeELF{needed: []string{"libpython3.12.so.1.0"}})
	w.file("orphan/pyvenv.cfg", "home = "+w.path("gone")+"\n", 0o644)
	w.file("empty/readme", "", 0o644)
	w.link("withvenv/.venv/bin/python3", "gone/python3.12")
	for _, c := range []struct {
		name    string
		options Options
		vars    map[string]string
		want    []string
	}{
		{"nothing at all", Options{}, nil, []string{"no python3 on the PATH", "--python PATH", "apt-get install python3"}},
		{"no such file", Options{Python: w.path("nope")}, nil, []string{"--python", w.path("nope"), "does not exist"}},
		{"no such name", Options{Python: "python9"}, nil, []string{`"python9"`, "which is not on the PATH"}},
		{"not executable", Options{Python: w.path("notexec")}, nil, []string{w.path("notexec"), "not executable"}},
		{"folder without one", Options{Python: w.path("empty")}, nil, []string{"the folder " + w.path("empty")}},
		{"environment variable", Options{}, map[string]string{"PINION_PYTHON": w.path("nope")}, []string{"PINION_PYTHON", w.path("nope")}},
		{"active environment gone", Options{}, map[string]string{"VIRTUAL_ENV": w.path("nope")}, []string{"VIRTUAL_ENV", w.path("nope"), "deactivate"}},
		{
			"version",
			Options{Python: "3"},
			map[string]string{"PATH": w.path("orphan/bin")},
			[]string{`names "3", which is a version`, "write python3"},
		},
		{"link to nothing", Options{Python: w.path("dangling/bin/python3")}, nil, []string{"is a link to", w.path("gone/python3.12")}},
		{"local environment broken", Options{Dir: w.path("withvenv")}, nil, []string{w.path("withvenv/.venv"), "is a link to", "--clear"}},
		{"base removed", Options{Python: w.path("orphan/bin/python3")}, nil, []string{w.path("orphan"), w.path("gone"), "--clear"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.vars = c.vars
			got, err := w.find(c.options)
			wantError(t, got, err, ErrNoPython, c.want...)
		})
	}
}

// TestChoose_VenvNamesakes: what only has the name of an environment does not choose.
func TestChoose_VenvNamesakes(t *testing.T) {
	for name, make := range map[string]func(w *world){
		"pipenv's file": func(w *world) { w.file("model/.venv", "project-x1y2", 0o644) },
		"empty folder":  func(w *world) { w.file("model/.venv/.gitkeep", "", 0o644) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			make(w)
			want := shared(w, "usr")
			w.vars["PATH"] = w.path("usr/bin")
			got := assert.Must(w.find(Options{}))(t)
			assert.Equal(t, "Executable", got.Executable, want)
			assert.Equal(t, "Source", got.Source, "PATH")
		})
	}
}

// TestChoose_PathSkipsCurrentFolder: an empty PATH entry must not let the model's folder choose.
func TestChoose_PathSkipsCurrentFolder(t *testing.T) {
	w := newWorld(t)
	shared(w, "trap")
	want := shared(w, "usr")
	t.Chdir(w.path("trap/bin"))
	w.vars["PATH"] = ":" + w.path("usr/bin")
	got := assert.Must(w.find(Options{}))(t)
	assert.Equal(t, "Executable", got.Executable, want)
}

// wantError checks kind and words of an error.
func wantError(t *testing.T, got *Python, err error, kind error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("want an error, got %+v", got)
	}
	assert.ErrorIs(t, "kind", err, kind)
	var typed *Error
	if !errors.As(err, &typed) || typed.What == "" || typed.Fix == "" {
		t.Errorf("got %#v, want a full *Error", err)
	}
	for _, word := range words {
		assert.Contains(t, "message", err.Error(), word)
	}
}

// TestChoose_PathsStayUnresolved: argv[0] must be the link in the environment.
func TestChoose_PathsStayUnresolved(t *testing.T) {
	w := newWorld(t)
	shared(w, "opt")
	link := w.link("venv/bin/python3", "opt/bin/python3")
	w.file("venv/pyvenv.cfg", "home = "+w.path("opt/bin")+"\n", 0o644)
	got := assert.Must(w.find(Options{Python: link}))(t)
	want := Python{Executable: link, LibPython: filepath.Join(w.root, "opt/lib/libpython3.12.so.1.0"), Version: "3.12", Venv: true, Source: "--python"}
	assert.Equal(t, "*got", *got, want)
}
