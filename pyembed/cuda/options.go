package cuda

import "time"

// Options of Start. The zero value is what a worker wants.
type Options struct {
	// Disabled leaves the driver alone; the state stays off. The worker sets it
	// from PINION_CUDA=off.
	Disabled bool
	// Library is what to give to dlopen. Default: libcuda.so.1.
	Library string
	// HangAfter is how long the start may take before it is called hanging. The
	// state may still become another one later. Default: 30 s, as a machine with
	// eight GPUs and no persistence daemon takes some 10 to 20 s.
	HangAfter time.Duration

	// deviceNode is there where a GPU's kernel driver is loaded. Default:
	// /dev/nvidiactl. A test names another.
	deviceNode string
	// visible is what to say of CUDA_VISIBLE_DEVICES; set by Start.
	visible string
}

func (o Options) withDefaults() Options {
	if o.Library == "" {
		o.Library = "libcuda.so.1"
	}
	if o.HangAfter == 0 {
		o.HangAfter = 30 * time.Second
	}
	if o.deviceNode == "" {
		o.deviceNode = "/dev/nvidiactl"
	}
	return o
}
