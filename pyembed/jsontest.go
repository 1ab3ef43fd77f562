//go:build pinion_test

package pyembed

// #cgo CFLAGS: -DPX_TEST
// #include <stdlib.h>
// #include "codec_jsontest.h"
import "C"

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"unsafe"

	python3 "github.com/go-python/cpy3"
)

// jsonTestScript imports the functions that call can call. A test runs in its package's folder.
const jsonTestScript = `
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, "testdata")
from jsontest_cases import check_cut, check_dump, check_load
from jsontest_properties import floats, fuzz, properties
from jsontest_bounds import keys, long_numbers, no_memory, speed
from jsontest_borrowed import borrowed
from jsontest_arrays import arrays, no_arrays, places
from jsontest_tensors import tensors
`

// jsonBridge is a real interpreter in this process, for tests of the JSON
// bridge only: cgo cannot be used in a test file. The interpreter lives on a
// separate thread until the process ends; CPython cannot start twice.
type jsonBridge struct {
	calls chan func()
}

// startJSONBridge starts the interpreter of libpython, whose standard library
// belongs to home, and imports the modules in testdata. It can be called once in a process.
func startJSONBridge(libpython, home string) (*jsonBridge, error) {
	// getpath would otherwise look for the standard library beside the "python3" of PATH.
	if err := os.Setenv("PYTHONHOME", home); err != nil {
		return nil, fmt.Errorf("start json bridge: %w", err)
	}
	b := &jsonBridge{calls: make(chan func())}
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: this is Python's main thread
		if err := initJSONBridge(libpython); err != nil {
			started <- err
			return
		}
		started <- nil
		for call := range b.calls {
			call()
		}
	}()
	return b, <-started
}

func initJSONBridge(libpython string) error {
	lib, err := python3.Open(libpython)
	if err != nil {
		return fmt.Errorf("start json bridge: %w", err)
	}
	if C.px_jsontest_prepare(lib.Table()) < 0 {
		return errors.New("start json bridge: the table of cpy3 is not the one this package was built with")
	}
	lib.Py_InitializeEx(false)
	if lib.PyRun_SimpleString(jsonTestScript) < 0 {
		return errors.New("start json bridge: the modules in testdata cannot be imported")
	}
	return nil
}

// call calls a function of jsonTestScript with data and returns its result. An exception there is an error.
func (b *jsonBridge) call(function string, data []byte) ([]byte, error) {
	var answer []byte
	var err error
	done := make(chan struct{})
	b.calls <- func() {
		defer close(done)
		name, text := C.CString(function), C.CBytes(data)
		defer C.free(unsafe.Pointer(name))
		defer C.free(text)
		var out C.struct_px_buf
		if C.px_jsontest_call(name, (*C.char)(text), C.size_t(len(data)), &out) < 0 {
			err = fmt.Errorf("call %s: Python raised; see stderr", function)
		} else {
			answer = C.GoBytes(unsafe.Pointer(out.data), C.int(out.len))
		}
		C.px_buf_free(&out)
	}
	<-done
	return answer, err
}
