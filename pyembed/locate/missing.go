package locate

import (
	"fmt"
	"path/filepath"
)

// missing is the error for an interpreter that has no shared library, with the
// fix that fits where the interpreter comes from.
func (f *finder) missing(in *interpreter) error {
	name := in.version.sonames()[0]
	what := fmt.Sprintf("the Python %s at %s has no shared library %s", in.version, in.path, name)
	if other, ok := f.elsewhere(name); ok {
		what += fmt.Sprintf(" of its own (%s belongs to another installation)", other)
	}
	return fail(ErrNoLibPython, f.libraryFix(in)+", or name the library with --libpython PATH", "%s", what)
}

// elsewhere finds a library of the right name that is not this interpreter's.
func (f *finder) elsewhere(name string) (string, bool) {
	for _, dir := range append(f.host.loaderDirs(), "/usr/local/lib") {
		if path := filepath.Join(dir, name); f.usable(path) {
			return path, true
		}
	}
	return "", false
}
