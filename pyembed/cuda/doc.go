// Package cuda starts the CUDA driver of a worker, on a side thread, while Python starts on the main thread: the start
// of the driver and of a context take a good part of a second, and do not need Python.
//
// The worker's Go part calls Start before it hands its thread to Python. From then
// on everything is C, in this folder's px_cuda files: Python must never call into
// Go, so the report, too, is written in C, and ReportFunc hands the address of that
// function to the code that registers Python's built-in module (C symbols of one cgo
// package can't be linked from another).
//
// What Start promises:
//
//   - libcuda is opened by dlopen. The build needs no CUDA header and no library; a
//     machine without a driver pays for one thread and one failed dlopen.
//   - The primary context of the first visible device is retained for the life of the
//     process. The CUDA runtime, torch, cupy, onnxruntime and others use this context.
//   - The side thread takes no signals, does not use Python and is never joined,
//     so that a driver that hangs delays neither the start nor the exit.
//   - A forked child sees the state "forked": CUDA does not work across fork.
//   - Each failure is reported with what happened, what it means and what to do; the table
//     is in meanings.go and docs/explanation/cuda.md.
//   - The C code allocates nothing.
//
// There is one CUDA driver in a process and so one state, which lives in C
// (px_cuda_state.c); this package has none.
//
// CUDA_VISIBLE_DEVICES is read by the driver itself. Importer: cmd/pinion.
package cuda
