package pyembed

// #include <stdlib.h>
// #include "process_fork.h"
// #include "serving_main.h"
import "C"

import (
	"fmt"
	"unsafe"

	python3 "github.com/go-python/cpy3"
)

// Config is what Main needs to turn the process into a worker.
type Config struct {
	Python    string // the interpreter's path, unresolved, so that a venv is found by it
	LibPython string // the library to dlopen
	SDK       string // the folder that holds the cog package
	JSON      []byte // for cog._worker.main, as it is
	ControlFD int
	PageFD    int
	// CUDAReport is cuda.ReportFunc's result, or nil.
	CUDAReport unsafe.Pointer
	// Preloader, if not nil, makes the process a preload process, which imports the model and forks workers.
	Preloader *Preloader
}

// Preloader is what a preload process needs in addition.
type Preloader struct {
	// Title is the memory of the process's name that ps shows: os.Args[0]. Workers overwrite it with theirs.
	Title string
	// CUDAStart and CUDAOptions are cuda.StartFunc's results: a worker calls the one with the other.
	CUDAStart, CUDAOptions unsafe.Pointer
}

// bootstrap is the first Python code that runs. It must stay one line, because its frame is in tracebacks. Bytecode of
// the package is always written to the package's folder, even with PYTHONDONTWRITEBYTECODE, because compiling takes
// longer than the rest of the start.
const bootstrap = "import sys; sys.path.insert(0, %q); keep = sys.dont_write_bytecode; " +
	"sys.dont_write_bytecode = False; from cog._worker import main; " +
	"main.preload(keep); sys.dont_write_bytecode = keep; main.main()"

// BlockSignals makes Go's threads block every signal, so that one that the model blocks waits for the model. It must be
// called on the process's first thread, before C code starts threads.
func BlockSignals() { C.px_block_signals() }

// Main turns the process into the worker. It must be called on the process's first thread, locked
// to it; it returns Python's exit status when the interpreter has ended. An error means that
// Python never started.
func Main(c Config) (int, error) {
	library, err := python3.Open(c.LibPython)
	if err != nil {
		return 0, fmt.Errorf("start worker: %w", err)
	}
	config := (*C.struct_px_config)(C.calloc(1, C.sizeof_struct_px_config)) // never freed: lives as long as the process
	config.api = library.Table()
	config.python = C.CString(c.Python)
	config.bootstrap = C.CString(fmt.Sprintf(bootstrap, c.SDK))
	config.json = C.CString(string(c.JSON))
	config.cuda_report = c.CUDAReport
	config.control_fd = C.int(c.ControlFD)
	config.page_fd = C.int(c.PageFD)
	if t := c.Preloader; t != nil {
		// Go's string refers to the kernel's copy of the arguments, which is not Go's memory.
		config.title = (*C.char)(unsafe.Pointer(unsafe.StringData(t.Title)))
		config.title_len = C.size_t(len(t.Title))
		*(*unsafe.Pointer)(unsafe.Pointer(&config.cuda_start)) = t.CUDAStart
		config.cuda_options = t.CUDAOptions
	}
	return int(C.px_main(config)), nil
}
