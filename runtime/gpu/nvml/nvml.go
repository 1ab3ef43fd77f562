package nvml

// #cgo CFLAGS: -std=c11 -Wall -Wextra -Werror -fvisibility=hidden
// #cgo LDFLAGS: -ldl
// #include <stdlib.h>
// #include "px_nvml.h"
import "C"

import "unsafe"

// reader returns a function that reads the GPUs by that library, which it opens at its first call.
func reader(library string) func() []Sample {
	var functions C.struct_px_nvml
	opened, usable := false, false
	return func() []Sample {
		if !opened {
			name := C.CString(library)
			usable = C.px_nvml_open(&functions, name) == 0
			C.free(unsafe.Pointer(name))
			opened = true
		}
		if !usable {
			return nil
		}
		var found [C.PX_NVML_MAX]C.struct_px_nvml_sample
		n := C.px_nvml_read(&functions, &found[0], C.PX_NVML_MAX)
		samples := make([]Sample, n)
		for i := range samples {
			f := &found[i]
			samples[i] = Sample{
				Index: int(f.index), MemoryUsed: int64(f.memory_used), MemoryTotal: int64(f.memory_total),
				Utilization: float64(f.utilization) / 100,
			}
		}
		return samples
	}
}
