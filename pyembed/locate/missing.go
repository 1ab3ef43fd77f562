package locate

import (
	"fmt"
	"path/filepath"
)

// missing returns the error for an interpreter that has no shared library, with the fix for the interpreter's origin.
func (f *finder) missing(in *interpreter) error {
	name := in.version.sonames()[0]
	what := fmt.Sprintf("the Python %s at %s has no shared library %s", in.version, in.path, name)
	if other, ok := f.elsewhere(name); ok {
		what += fmt.Sprintf(" of its own (%s belongs to another installation)", other)
	}
	return fail(ErrNoLibPython, f.libraryFix(in)+", or name the library with --libpython PATH", "%s", what)
}

// elsewhere finds a library of the right name that belongs to another interpreter.
func (f *finder) elsewhere(name string) (string, bool) {
	for _, dir := range append(f.host.loaderDirs(), "/usr/local/lib") {
		if path := filepath.Join(dir, name); f.usable(path) {
			return path, true
		}
	}
	return "", false
}
