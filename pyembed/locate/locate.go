package locate

import (
	"cmp"
	"os"
	"path/filepath"
)

// Options say where to look. The zero value looks in the environment, in the
// current folder and on the PATH.
type Options struct {
	// Python is the flag --python: the path of an interpreter, the name of one on
	// the PATH, or the folder of an environment. Empty means not given.
	Python string
	// LibPython is the flag --libpython: the path of the shared library, or a
	// soname that the dynamic loader knows. Empty means search.
	LibPython string
	// Dir is the model's folder. Empty means the current one. A shim is run in it,
	// because pyenv and its like choose by folder (.python-version).
	Dir string
	// Env reads the environment. Nil means os.Getenv.
	Env func(string) string
}

// Python is an interpreter that Pinion can run.
type Python struct {
	// Executable is the absolute path of the program as it was chosen, with symbolic links not resolved. As argv[0] of
	// Py_BytesMain it leads CPython to the virtual environment around it.
	Executable string
	// LibPython is the argument of dlopen: an absolute path, or a soname if --libpython named one.
	LibPython string
	// Version is the language version, "3.12"; of a free-threaded build "3.14t".
	Version string
	// Venv reports whether Executable is in a virtual environment.
	Venv bool
	// Source says what chose the interpreter: "--python", "PINION_PYTHON", "VIRTUAL_ENV",
	// ".venv", "environment of pinion" or "PATH".
	Source string
}

// Find chooses the interpreter and its library. Its errors are *Error.
func Find(o Options) (*Python, error) {
	return newFinder(o, thisHost()).find(o)
}

// Interpreter chooses the interpreter as Find does, for a program that runs it as it is. It does not search for the
// shared library: LibPython is empty. Its errors are *Error.
func Interpreter(o Options) (*Python, error) {
	p, _, err := newFinder(o, thisHost()).chosen(o)
	return p, err
}

// finder holds the environment of a search; tests use another one.
type finder struct {
	env  func(string) string
	dir  string
	host host
}

func newFinder(o Options, h host) *finder {
	f := &finder{env: o.Env, dir: cmp.Or(o.Dir, "."), host: h}
	if f.env == nil {
		f.env = os.Getenv
	}
	return f
}

func (f *finder) find(o Options) (*Python, error) {
	p, in, err := f.chosen(o)
	if err != nil {
		return nil, err
	}
	if o.LibPython != "" {
		p.LibPython, err = f.givenLibrary(o.LibPython, in)
	} else {
		p.LibPython, err = f.library(in)
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// chosen returns the interpreter that the options and the environment name, and what is known about it. A version that
// Pinion does not run on is an error.
func (f *finder) chosen(o Options) (*Python, *interpreter, error) {
	path, source, err := f.choose(o.Python)
	if err != nil {
		return nil, nil, err
	}
	in, err := f.identify(path)
	if err != nil {
		return nil, nil, err
	}
	if err := f.checkVersion(in); err != nil {
		return nil, nil, err
	}
	return &Python{Executable: in.path, Version: in.version.String(), Venv: in.venv != nil, Source: source}, in, nil
}

// absolute makes a path absolute without resolving links. If the current folder was removed, it returns the path as it
// is.
func absolute(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	return abs
}
