package cuda

// #cgo CFLAGS: -std=c11 -Wall -Wextra -Werror -fvisibility=hidden
// #cgo LDFLAGS: -ldl -lpthread
// #include <errno.h>
// #include <stdlib.h>
// #include "px_cuda.h"
import "C"

import (
	"fmt"
	"math"
	"os"
	"syscall"
	"time"
	"unsafe"
)

// StartFunc returns what a process that is forked from this one needs to start the driver without Go: the address of
// int px_cuda_start(const struct px_cuda_options *), and its argument, which is never freed. Both are nil with
// Options.Disabled. The message about a missing GPU does not mention CUDA_VISIBLE_DEVICES, because its value in the
// other process is not known.
func StartFunc(o Options) (start, options unsafe.Pointer) {
	if o.Disabled {
		return nil, nil
	}
	o = o.withDefaults()
	fixes := encode(Meanings(), "")
	c := (*C.struct_px_cuda_options)(C.calloc(1, C.sizeof_struct_px_cuda_options))
	c.library = C.CString(o.Library)
	c.device_node = C.CString(o.deviceNode)
	c.hang_ms = C.int(o.HangAfter / time.Millisecond)
	c.fixes = (*C.char)(C.CBytes([]byte(fixes)))
	c.fixes_len = C.size_t(len(fixes))
	return unsafe.Pointer(C.px_cuda_start), unsafe.Pointer(c)
}

// Start starts the driver on a side thread and returns at once. With
// Options.Disabled it does nothing. It may be called once in a process; an error
// does not stop a worker, which serves without CUDA or lets the model start it.
func Start(o Options) error {
	if o.Disabled {
		return nil
	}
	o = o.withDefaults()
	o.visible = visibleDevices(os.LookupEnv("CUDA_VISIBLE_DEVICES"))
	hangAfter := o.HangAfter / time.Millisecond
	if hangAfter <= 0 || hangAfter > math.MaxInt32 {
		return fmt.Errorf("start CUDA driver: %w: HangAfter is %v", ErrOptions, o.HangAfter)
	}
	fixes := encode(Meanings(), o.visible)
	library, node, table := C.CString(o.Library), C.CString(o.deviceNode), C.CString(fixes)
	defer C.free(unsafe.Pointer(library))
	defer C.free(unsafe.Pointer(node))
	defer C.free(unsafe.Pointer(table))
	options := C.struct_px_cuda_options{
		library:     library,
		device_node: node,
		hang_ms:     C.int(hangAfter),
		fixes:       table,
		fixes_len:   C.size_t(len(fixes)),
	}
	switch err := C.px_cuda_start(&options); err {
	case 0:
		return nil
	case C.EALREADY:
		return fmt.Errorf("start CUDA driver: %w", ErrStarted)
	case C.EINVAL:
		return fmt.Errorf("start CUDA driver: %w", ErrOptions)
	default:
		return fmt.Errorf("start CUDA driver: make thread: %w", syscall.Errno(err))
	}
}

// ReportFunc returns the address of the C function
//
//	size_t px_cuda_report_json(char *buf, size_t cap, int timeout_ms)
//
// by which C and Python ask for the report: see px_cuda.h. The function may be called from any thread, and without the
// GIL if timeout_ms is not 0.
func ReportFunc() unsafe.Pointer {
	return unsafe.Pointer(C.px_cuda_report_json)
}
