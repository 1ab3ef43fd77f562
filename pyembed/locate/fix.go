package locate

import (
	"fmt"
	"path/filepath"
	"strings"
)

// suggested is the version that a fix names if any will do. Each way to install Python has it.
const suggested = "3.12"

// nameIt ends a fix after which the new interpreter must be named.
const nameIt = ", and name it with --python PATH or PINION_PYTHON"

// useGlibc is the fix on a system whose C library is musl.
const useGlibc = "run the model on a system with glibc, such as Debian or Ubuntu, or in an image with it, such as python:" +
	suggested + "-slim"

// origin is what installed an interpreter, and so what installs its library or another version.
type origin int

const (
	fromSource origin = iota // or an unknown origin
	fromSystem
	fromPyenv
	fromConda
	fromUV
)

// origin returns the origin of an interpreter, and the folder of its installation.
func (f *finder) origin(in *interpreter) (origin, string) {
	pyenv := f.env("PYENV_ROOT")
	for _, prefix := range in.prefixes() {
		switch {
		case strings.Contains(prefix, "/.pyenv/versions/"),
			pyenv != "" && strings.HasPrefix(prefix, filepath.Join(pyenv, "versions")+"/"):
			return fromPyenv, prefix
		case isDir(filepath.Join(prefix, "conda-meta")):
			return fromConda, prefix
		case strings.HasPrefix(filepath.Base(prefix), "cpython-") && strings.Contains(prefix, "-linux-"):
			return fromUV, prefix
		case prefix == f.host.usr || prefix == "/":
			return fromSystem, prefix
		}
	}
	return fromSource, ""
}

// libraryFix returns how to get the shared library of an interpreter.
func (f *finder) libraryFix(in *interpreter) string {
	from, prefix := f.origin(in)
	switch from {
	case fromPyenv:
		return "build it again with PYTHON_CONFIGURE_OPTS=--enable-shared pyenv install --force " + filepath.Base(prefix)
	case fromConda:
		return "install it with conda install --prefix " + prefix + " --force-reinstall python"
	case fromUV:
		if name, ok := strings.CutSuffix(filepath.Base(prefix), "-musl"); ok {
			// uv's Pythons for musl may be static programs, which run here nevertheless.
			return "that Python is built for musl: install the one for glibc with uv python install " + name + "-gnu" + nameIt
		}
		return "install it again with uv python install --reinstall " + filepath.Base(prefix)
	case fromSystem:
		return f.libraryPackage(in)
	}
	return "build that Python again with ./configure --enable-shared, or choose another one with --python PATH"
}

// libraryPackage returns how to install the library of one of the system's interpreters.
func (f *finder) libraryPackage(in *interpreter) string {
	system := f.host.distribution()
	program := "python" + in.version.String()
	switch {
	case system.usesApt():
		return "install it with apt-get install lib" + program
	case system.usesDNF() && f.isPython3(in):
		return "install it with dnf install python3-libs"
	case system.id == "fedora":
		// Fedora's packages of versions other than its python3 include the library.
		return "install it with dnf install " + program
	case system.usesDNF():
		return "install it with dnf install " + program + "-libs"
	}
	return "install the package of your system that has " + in.version.sonames()[0] +
		fmt.Sprintf(" (Debian and Ubuntu: lib%s, Fedora: python3-libs)", program)
}

// isPython3 reports whether an interpreter is the system's python3.
func (f *finder) isPython3(in *interpreter) bool {
	path, err := filepath.EvalSymlinks(filepath.Join(f.host.usr, "bin/python3"))
	return err == nil && in.image != nil && path == in.image.path
}

// pythonFix returns how to get a Python on a system that has none, or none that is new enough.
func (f *finder) pythonFix() string {
	const orName = ", or name another one with --python PATH or PINION_PYTHON"
	system := f.host.distribution()
	own := system.python3()
	switch {
	case system.usesMusl():
		return "the Python of " + system.name + " is built for musl, and this program for glibc: " + useGlibc
	case own.known() && own.olderThan(oldest):
		return fmt.Sprintf("%s has only Python %s: install a newer one with uv python install %s", system.name, own,
			suggested) + nameIt
	case own.known():
		return fmt.Sprintf("install one with apt-get install python3 libpython%s", own) + orName
	case system.usesApt():
		// A package of that system's own version, which is not known here, is what libpython3-dev depends on.
		return "install one with apt-get install python3 libpython3-dev" + orName
	case system.id == "fedora":
		return "install one with dnf install python3" + orName
	case system.usesDNF():
		return "install one with dnf install python" + suggested + ", and name it with --python " +
			filepath.Join(f.host.usr, "bin/python"+suggested)
	}
	return fmt.Sprintf("install CPython %s or newer with its shared library (Debian and Ubuntu: apt-get install python3 libpython3-dev)", oldest) + orName
}

// newerFix returns how to get a newer Python from the origin of an interpreter.
func (f *finder) newerFix(in *interpreter) string {
	if in.venv != nil && in.venv.uv {
		return "make the environment again with uv venv --clear --python " + suggested + " " + in.venv.dir
	}
	fix := newerPython
	switch from, prefix := f.origin(in); from {
	case fromPyenv:
		fix = "install a newer one with PYTHON_CONFIGURE_OPTS=--enable-shared pyenv install " + suggested + nameIt
	case fromConda:
		fix = "install a newer one with conda install --prefix " + prefix + " python=" + suggested
	case fromUV:
		fix = "install a newer one with uv python install " + suggested + nameIt
	case fromSystem:
		fix = f.pythonFix()
	}
	if in.venv != nil {
		fix += ", then make the environment again by its -m venv --clear " + in.venv.dir
	}
	return fix
}

// newerPython is the fix if the origin of the old one is unknown.
const newerPython = "install Python 3.10 or newer and name it with --python PATH or PINION_PYTHON"
