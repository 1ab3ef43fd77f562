// Package locate decides which Python interpreter a model runs on and which libpython a worker has to open for it. The
// front calls it once, before anything listens, so that on a machine without a usable Python it ends with one clear
// message and exit code 2, and not with a worker that dies. The package is pure Go, reads files and changes nothing.
//
// # Which interpreter
// The first of these that is given, and no other. A choice that does not work is an error; the next one is not tried.
//
//	--python PATH           Options.Python: a program, a name on the PATH, or the folder of an environment
//	PINION_PYTHON           the same, from the environment
//	VIRTUAL_ENV             the active virtual environment
//	DIR/.venv               the virtual environment in the model's folder
//	BIN/..                  the environment, a virtual one or conda's, that pinion itself is installed in
//	python3                 of the PATH
//
// # Which libpython
//
// An interpreter built with --enable-shared names its library in its own ELF header (DT_NEEDED) and says where to look
// (DT_RPATH, DT_RUNPATH); the search follows the rules of ld.so(8). An interpreter that has the library linked in
// (Debian, Ubuntu, conda, uv) carries its version in its resolved name, python3.12, and has the shared twin under its
// own prefix. A library of the same version under another prefix is not taken: it brings other built-in modules and
// another standard library than the interpreter's own, so it is named in the error instead. That takes a fraction of a
// millisecond and starts no process. If files do not say enough, the interpreter itself is asked, with one run of
// "PYTHON -I -S -c": for a pyenv, asdf or mise shim, another wrapper script, a program whose name does not show its
// version, or a library in an unusual place.
//
// # What is refused
// CPython before 3.10, free-threaded builds before 3.14, other implementations, interpreters
// for another processor or C library, and interpreters without a libpython.so.
// Every error is an *Error whose Kind is one of the sentinels of errors.go. Its fix names the package or the command
// that helps where the interpreter comes from: the distribution by os-release(5), uv, conda, pyenv (fix.go).
//
// Importers: cmd/pinion. Linux only.
package locate
