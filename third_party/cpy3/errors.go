package python3

import "errors"

// Why a file cannot be used as libpython. Open wraps these with the path and what is known beyond.
var (
	// ErrNoLibrary means that the loader did not open the file (absent, not a library, another machine's).
	ErrNoLibrary = errors.New("cannot load the library")
	// ErrNotPython means that the file is a library, but not CPython's.
	ErrNotPython = errors.New("the library is not CPython")
	// ErrTooOld means a CPython before 3.10.
	ErrTooOld = errors.New("CPython 3.10 or newer is needed")
	// ErrFreeThreaded means a free-threaded build before 3.14, which was an experiment.
	ErrFreeThreaded = errors.New("free-threaded builds of CPython are supported from 3.14 on; use the ordinary build")
	// ErrLayout means that objects do not begin as they do in every build of this kind (Py_TRACE_REFS).
	ErrLayout = errors.New("a build of CPython with another object layout (Py_TRACE_REFS) is not supported")
	// ErrMissingSymbol means that a function or object of the table is not in the library.
	ErrMissingSymbol = errors.New("the library lacks a symbol")
	// ErrPath means that the path cannot be handed to C.
	ErrPath = errors.New("the path is empty or has a NUL byte")
	// ErrNoMemory means that there was no memory for the table.
	ErrNoMemory = errors.New("out of memory")
)
