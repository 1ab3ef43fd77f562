package python3

// #include <stdlib.h>
// #include "open.h"
import "C"

import (
	"fmt"
	"strings"
	"unsafe"
)

// detailSize bounds what C says about a failure; dlerror quotes the path, which may be long.
const detailSize = 8192

// Library is an opened libpython. It stays loaded until the process ends.
type Library struct {
	api *C.struct_cpy3_api
}

// Open loads the libpython at path (a file, or a bare name for the loader to
// search, such as "libpython3.11.so.1.0") and looks up the whole table. It
// starts no interpreter. Errors wrap the sentinels of this package.
//
// The symbols of the library become visible to everything loaded later
// (RTLD_GLOBAL), so a process should open one libpython only.
func Open(path string) (*Library, error) {
	if path == "" || strings.IndexByte(path, 0) >= 0 {
		return nil, fmt.Errorf("open libpython %q: %w", path, ErrPath)
	}
	cpath := C.CString(path)
	defer C.free(unsafe.Pointer(cpath))
	detail := (*C.char)(C.malloc(detailSize))
	defer C.free(unsafe.Pointer(detail))

	var api *C.struct_cpy3_api
	status := C.cpy3_open(cpath, &api, detail, detailSize)
	if status == C.CPY3_OK {
		return &Library{api: api}, nil
	}
	return nil, refusal(path, status, C.GoString(detail))
}

func refusal(path string, status C.enum_cpy3_status, detail string) error {
	switch status {
	case C.CPY3_NO_LIBRARY:
		return fmt.Errorf("open libpython %s: %w: %s", path, ErrNoLibrary, detail)
	case C.CPY3_TOO_OLD:
		return fmt.Errorf("open libpython %s: it is CPython %s: %w", path, detail, ErrTooOld)
	case C.CPY3_FREE_THREADED:
		return fmt.Errorf("open libpython %s: it is CPython %s: %w", path, detail, ErrFreeThreaded)
	case C.CPY3_BAD_LAYOUT:
		return fmt.Errorf("open libpython %s: it is CPython %s: %w", path, detail, ErrLayout)
	case C.CPY3_NO_SYMBOL:
		return fmt.Errorf("open libpython %s: %w: %s", path, ErrMissingSymbol, detail)
	case C.CPY3_NO_MEMORY:
		return fmt.Errorf("open libpython %s: %w", path, ErrNoMemory)
	default:
		return fmt.Errorf("open libpython %s: %w: %s", path, ErrNotPython, detail)
	}
}

// Table is the address of the library's struct cpy3_api (cpy3.h), valid for the life of the process.
func (l *Library) Table() unsafe.Pointer { return unsafe.Pointer(l.api) }

// Py_GetVersion is sys.version, e.g. "3.12.1 (main, ...) [GCC ...]". It needs no interpreter.
func (l *Library) Py_GetVersion() string { return C.GoString(C.cpy3_version(l.api)) }

// Py_BytesMain is CPython's own main: it starts the interpreter as the command
// line args says (args[0] is the interpreter's path), runs it to its end and
// returns the exit status. Call it on the thread that shall be Python's main
// thread, locked. An argument with a NUL byte ends there.
func (l *Library) Py_BytesMain(args []string) int {
	argv := make([]*C.char, len(args)+1)
	for i, arg := range args {
		argv[i] = C.CString(arg)
		defer C.free(unsafe.Pointer(argv[i]))
	}
	return int(C.cpy3_bytes_main(l.api, C.int(len(args)), &argv[0]))
}

// Py_InitializeEx starts the interpreter on this thread, which gets the GIL; with
// signals, its signal handlers too. CPython aborts the process if it cannot start.
func (l *Library) Py_InitializeEx(signals bool) {
	var flag C.int
	if signals {
		flag = 1
	}
	C.cpy3_initialize(l.api, flag)
}

// PyRun_SimpleString runs code in __main__, with the GIL: 0, or -1 after
// printing the exception. SystemExit ends the process.
func (l *Library) PyRun_SimpleString(code string) int {
	text := C.CString(code)
	defer C.free(unsafe.Pointer(text))
	return int(C.cpy3_run(l.api, text))
}
