// Package nvml asks NVIDIA's management library how busy the GPUs are, for the front's metrics.
// The front never loads CUDA: libnvidia-ml makes no context and takes no memory of a GPU. It comes
// with the driver and is opened by dlopen at the first request, so the build needs no header of it, and a machine
// without it pays for one failed dlopen.
//
// What a Sampler promises:
//
//   - Samples never waits for longer than Options.Timeout. A driver in trouble can take seconds over an answer, or
//     never give one. Then Samples returns none, and only one goroutine ever waits for the driver.
//   - A GPU that cannot be read, for example because it fell off the bus, is left out. A number that a GPU does not
//     have, such as the utilization of a part of one (MIG), is negative.
//   - Without the library, or if it cannot be initialized, there are no GPUs.
//
// GPUs are numbered as nvidia-smi numbers them; CUDA_VISIBLE_DEVICES means nothing to the library, but a container has
// only the GPUs that it was given. The C code allocates nothing and keeps no state.
// It is a separate package because it needs C, without which the rest of runtime builds.
package nvml
