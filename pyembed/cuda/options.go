package cuda

import (
	"cmp"
	"time"
)

// Options of Start. The zero value is right for a worker.
type Options struct {
	// Disabled means that the driver is not started; the state stays off. The worker sets it
	// from PINION_CUDA=off.
	Disabled bool
	// Library is the argument of dlopen. Default: libcuda.so.1.
	Library string
	// HangAfter is how long the start may take before it is called hanging. The
	// state may still become another one later. Default: 30 s, as a machine with
	// eight GPUs and no persistence daemon takes some 10 to 20 s.
	HangAfter time.Duration

	// deviceNode is a file that exists if a GPU's kernel driver is loaded. Default: /dev/nvidiactl. Tests set another one.
	deviceNode string
	// visible describes CUDA_VISIBLE_DEVICES; set by Start.
	visible string
}

func (o Options) withDefaults() Options {
	o.Library = cmp.Or(o.Library, "libcuda.so.1")
	o.HangAfter = cmp.Or(o.HangAfter, 30*time.Second)
	o.deviceNode = cmp.Or(o.deviceNode, "/dev/nvidiactl")
	return o
}
