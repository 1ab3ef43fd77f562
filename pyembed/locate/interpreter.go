package locate

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
)

// interpreter is what is known about the chosen program.
type interpreter struct {
	path    string // absolute, with links not resolved
	image   *image // nil if it is a script, and so is what it starts
	venv    *venv  // nil if it is not in a virtual environment
	version version
	soname  string // its DT_NEEDED libpython; empty if that is linked in
	facts   *facts // nil if it was not asked
	// base is the interpreter that a copied one (python -m venv --copies) is a
	// copy of, with its prefix; nil for others.
	base *interpreter
}

// identify finds out what path is, from its headers if they say enough.
func (f *finder) identify(path string) (*interpreter, error) {
	in, err := f.fromHeaders(path)
	if err != nil || in.version.known() {
		return in, err
	}
	got, err := f.probe(path)
	if err != nil {
		return nil, err
	}
	// Python 2 has no sys.implementation; that it is too old is the better error.
	if got.version.major >= 3 && got.implementation != "cpython" {
		return nil, fail(ErrNotCPython, pickAnother,
			"%s is %s, and Pinion runs on CPython only", path, got.implementation)
	}
	// A shim or wrapper has named the real program.
	if got.executable != "" && got.executable != path && executable(got.executable) == nil {
		real, err := f.fromHeaders(absolute(got.executable))
		if err != nil {
			return nil, err
		}
		in = real
	}
	in.facts = got
	in.version = got.version
	return in, nil
}

// fromHeaders reads the files' headers. The version is unknown if they do not have it.
func (f *finder) fromHeaders(path string) (*interpreter, error) {
	in := &interpreter{path: path, venv: readVenv(path)}
	if in.venv != nil && in.venv.baseRemoved() {
		return nil, fail(ErrNoPython,
			"make it again with python3 -m venv --clear "+in.venv.dir,
			"the virtual environment %s was made from a Python in %s, which is no longer there", in.venv.dir, in.venv.home)
	}
	img, err := readImage(path)
	if errors.Is(err, errNotELF) {
		return in, nil
	}
	if err != nil {
		return nil, fail(ErrNoPython, pickAnother, "the Python interpreter %s can't be read: %v", path, err)
	}
	in.image = img
	if err := f.checkPlatform(img, path); err != nil {
		return nil, err
	}
	in.readVersion()
	in.base = f.original(in)
	if !in.version.known() && in.base != nil {
		in.version = in.base.version
	}
	return in, nil
}

// original finds the interpreter that a venv's copied program was copied from.
func (f *finder) original(in *interpreter) *interpreter {
	if in.venv == nil {
		return nil
	}
	path, ok := in.venv.interpreter(filepath.Base(in.path))
	if !ok {
		return nil
	}
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil || resolved == in.image.path {
		return nil // a link, not a copy
	}
	// readVenv is not called again: an environment made inside another one names the first interpreter as its home.
	img, err := readImage(resolved)
	if err != nil {
		return nil
	}
	base := &interpreter{path: path, image: img}
	base.readVersion()
	return base
}

// readVersion takes the version from the library that the image needs, or else from the program's name, if one has it.
func (in *interpreter) readVersion() {
	var ok bool
	if in.soname, in.version, ok = in.image.libpython(); !ok {
		in.version, _ = parseProgram(filepath.Base(in.image.path))
	}
}

// checkPlatform returns an error for an image that this process could not open.
func (f *finder) checkPlatform(img *image, path string) error {
	if f.host.machine != 0 && img.machine != f.host.machine {
		return fail(ErrWrongPlatform, pickAnother,
			"%s is built for the processor %v, and this program for %v", path, img.machine, f.host.machine)
	}
	if img.musl() == f.host.musl || img.interp == "" {
		return nil
	}
	theirs, ours, fix := "musl", "glibc", "choose one that is linked with glibc, with --python PATH or PINION_PYTHON"
	if f.host.musl {
		theirs, ours, fix = ours, theirs, pickAnother
	} else if f.host.distribution().usesMusl() {
		fix = useGlibc
	}
	return fail(ErrWrongPlatform, fix,
		"%s and this program use different C libraries, %s (%s) and %s, and one process can load only one",
		path, theirs, img.interp, ours)
}

// checkVersion returns an error for an interpreter of a version that Pinion does not run on.
func (f *finder) checkVersion(in *interpreter) error {
	newer := ""
	if in.version.olderThan(oldest) {
		newer = f.newerFix(in)
	}
	return checkVersion(in.version, in.path, newer)
}

// prefixes returns the folders under which this interpreter is installed, the nearest first: of its program, of the one
// that it was copied from, and those that it reports.
func (in *interpreter) prefixes() []string {
	var dirs []string
	add := func(dir string) {
		if dir != "" && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	if in.image != nil {
		add(filepath.Dir(filepath.Dir(in.image.path)))
	}
	if in.base != nil {
		add(filepath.Dir(filepath.Dir(in.base.image.path)))
	}
	if in.facts != nil {
		add(in.facts.prefix)
	}
	return dirs
}

// isDir reports whether there is a folder of that name.
func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
