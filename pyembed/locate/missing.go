package locate

import (
	"fmt"
	"path/filepath"
	"strings"
)

// missing is the error for an interpreter that has no shared library, with the
// advice that fits where the interpreter comes from.
func (f *finder) missing(in *interpreter) error {
	name := in.version.sonames()[0]
	what := fmt.Sprintf("the Python %s at %s has no shared library %s", in.version, in.path, name)
	if other, ok := f.elsewhere(in, name); ok {
		what += fmt.Sprintf(" of its own (%s belongs to another installation)", other)
	}
	return fail(ErrNoLibPython, f.advice(in)+", or name the library with --libpython PATH", "%s", what)
}

// elsewhere finds a library of the right name that is not this interpreter's.
func (f *finder) elsewhere(in *interpreter, name string) (string, bool) {
	for _, dir := range append(f.host.loaderDirs(), "/usr/local/lib") {
		if path := filepath.Join(dir, name); f.usable(path) {
			return path, true
		}
	}
	return "", false
}

// advice tells how to get the library, by the place where the interpreter is.
func (f *finder) advice(in *interpreter) string {
	prefixes := in.prefixes()
	for _, prefix := range prefixes {
		root := f.env("PYENV_ROOT")
		switch {
		case strings.Contains(prefix, "/.pyenv/versions/"),
			root != "" && strings.HasPrefix(prefix, filepath.Join(root, "versions")+"/"):
			return fmt.Sprintf("build it again with PYTHON_CONFIGURE_OPTS=--enable-shared pyenv install --force %s",
				filepath.Base(prefix))
		case isDir(filepath.Join(prefix, "conda-meta")):
			return "install it with conda install --prefix " + prefix + " --force-reinstall python"
		case prefix == "/usr" || prefix == "/":
			return fmt.Sprintf("install it with apt-get install libpython%s (Debian, Ubuntu) or dnf install python3-libs (Fedora)",
				in.version)
		}
	}
	return "build that Python again with ./configure --enable-shared, or choose another one with --python PATH"
}
