package locate

import (
	"errors"
	"fmt"
)

// The kinds of failure. Find's errors match exactly one of them with errors.Is.
var (
	// ErrNoPython means that there is no interpreter at the chosen place, or that it does not run.
	ErrNoPython = errors.New("no usable Python interpreter")
	// ErrNoLibPython means that the interpreter is fine, but its shared library is missing.
	ErrNoLibPython = errors.New("no shared libpython")
	// ErrFreeThreaded means that the interpreter is a free-threaded build, which has no GIL, before 3.14.
	ErrFreeThreaded = errors.New("free-threaded Python too old")
	// ErrTooOld means that the interpreter is older than CPython 3.10.
	ErrTooOld = errors.New("Python too old")
	// ErrNotCPython means that the interpreter is PyPy, GraalPy or another implementation.
	ErrNotCPython = errors.New("not CPython")
	// ErrWrongPlatform means that the interpreter or the library is built for another
	// processor or another C library than this program.
	ErrWrongPlatform = errors.New("Python for another platform")
)

// Error is the error for users if no Python can be used.
type Error struct {
	// Kind is one of the sentinels above.
	Kind error
	// What says what happened, and to which file.
	What string
	// Fix says what to do about it.
	Fix string
}

// Error returns both sentences.
func (e *Error) Error() string { return e.What + "; " + e.Fix }

// Unwrap returns the kind, for errors.Is.
func (e *Error) Unwrap() error { return e.Kind }

// fail returns an *Error. fix precedes what because what has arguments.
func fail(kind error, fix, what string, args ...any) *Error {
	return &Error{Kind: kind, What: fmt.Sprintf(what, args...), Fix: fix}
}

// pickAnother is the fix if only another interpreter helps.
const pickAnother = "choose another interpreter with --python PATH or PINION_PYTHON"
