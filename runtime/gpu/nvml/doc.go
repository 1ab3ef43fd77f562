// Package nvml asks NVIDIA's management library how busy the GPUs are, for the front's metrics.
//
// The front never loads CUDA, and needs not: libnvidia-ml makes no context and takes no memory of a GPU. It comes
// with the driver and is opened by dlopen at the first request, so the build needs no header of it, and a machine
// without it pays for one failed dlopen.
//
// What a Sampler promises:
//
//   - Samples never waits for longer than Options.Timeout. A driver in trouble can take seconds over an answer, or
//     never give one: then there is no answer, one goroutine waits for the driver, and no second one ever does.
//   - A GPU that cannot be read, for it fell off the bus, is left out; a number that a GPU does not have, as parts of
//     one (MIG) have no utilization, is negative.
//   - Without the library, and where it cannot be initialized, there are no GPUs.
//
// GPUs are numbered as nvidia-smi numbers them; CUDA_VISIBLE_DEVICES means nothing to the library, but a container has
// only the GPUs that it was given. The C code allocates nothing and keeps no state.
//
// It is apart because it needs C, without which the rest of runtime builds.
package nvml
