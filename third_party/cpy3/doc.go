// Package python3 gives a Go program the C API of whichever CPython it finds
// when it runs: it opens libpython with dlopen and fills a table of functions
// by dlsym. It is built without Python.h and without libpython, and one binary
// works with CPython 3.10 to 3.15.
//
// It stands in for github.com/go-python/cpy3 under that import path and with
// that package's name; README.md says why and what differs. There are three
// users of it:
//
//   - Go code calls [Open] and the methods of [Library], which have cpy3's
//     names (Py_BytesMain, Py_GetVersion ...).
//   - C code of another package includes cpy3.h, is handed [Library.Table] and
//     calls the functions of the table under their natural names.
//   - [Open] is also the test whether a file is a usable libpython; each reason
//     why not has its error in errors.go.
//
// What it promises: nothing of a refused library is called but Py_GetVersion;
// no interpreter is started by Open; a Library may be used by any thread, as
// far as Python allows that (the methods say which need the GIL). What it does
// not do: find libpython, or convert values.
//
// It imports the standard library only.
package python3
