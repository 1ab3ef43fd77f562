//go:build pinion_test

package cuda

// #include "px_cuda.h"
import "C"

import (
	"fmt"
	"unsafe"
)

// readReport returns the report once the start has ended or counts as hanging, or at once if Start was not called. Test
// files may not use cgo.
func readReport() ([]byte, error) {
	// 64 devices with long names need some 30 KiB.
	buf := make([]byte, 64<<10)
	length := C.px_cuda_report_json((*C.char)(unsafe.Pointer(&buf[0])), C.size_t(len(buf)), -1)
	if int(length) >= len(buf) {
		return nil, fmt.Errorf("read CUDA report: %d bytes do not fit", length)
	}
	return buf[:length], nil
}
