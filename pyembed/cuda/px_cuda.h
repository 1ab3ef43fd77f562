// The CUDA driver of one worker process, opened at run time.
//
// One side thread opens libcuda, initialises it and retains the primary context of
// the first device while Python starts on the main thread. Others ask for its report.
// There is one CUDA driver in a process, so there is one state, held in px_cuda_state.c.
//
// For every function here:
//   GIL     never needed, never taken; release it before a call that may wait.
//   memory  the caller's buffers are used during the call only; nothing is allocated.
//   fork    in a forked child each function answers at once, with PX_CUDA_FORKED.
//   errors  by return value; errno has no meaning.
#ifndef PX_CUDA_H
#define PX_CUDA_H

#include <stddef.h>
#include <stdint.h>

// The order is that of the table of moves in px_cuda_state.c and of the names there.
enum px_cuda_state {
  PX_CUDA_OFF,  // px_cuda_start was not called
  PX_CUDA_STARTING,  // the side thread is at work
  PX_CUDA_ABSENT,  // there is no libcuda here
  PX_CUDA_NO_DEVICE,  // a driver, and no device for this process
  PX_CUDA_DRIVER_TOO_OLD,  // the driver does not fit the library or the device
  PX_CUDA_FAILED,  // any other error
  PX_CUDA_READY,  // context retained
  // Views of a state, computed when asked for and never stored:
  PX_CUDA_HANGING,  // starting for longer than hang_ms; it may still end
  PX_CUDA_FORKED,  // this process is a fork of the one that started
  PX_CUDA_STATES
};

enum { PX_CUDA_MAX_DEVICES = 64, PX_CUDA_FIXES_MAX = 16384 };

struct px_cuda_device {
  char name[256];
  char uuid[48];  // "GPU-…" or "MIG-…", as nvidia-smi -L writes it
  char pci_bus_id[32];  // "0000:18:00.0"
  int capability_major, capability_minor;
  uint64_t memory_total;  // bytes
  uint64_t memory_free;  // bytes, just after the context was made; 0: not known
};

struct px_cuda_report {
  int state;  // enum px_cuda_state
  int driver_version;  // as cuDriverGetVersion gives it: 12040 is 12.4; 0: not known
  int device_count;  // of devices below; more than the maximum are not reported
  int code;  // CUresult of the call that failed; 0: none did
  int64_t total_us;  // from the start to the end, or to now
  int64_t load_us, init_us, context_us;  // dlopen, cuInit, cuDevicePrimaryCtxRetain
  char library[512];  // the file that was opened
  char error[512];  // what happened, to which call; empty: nothing
  char fix[1024];  // what it means and what to do; empty: nothing
  struct px_cuda_device devices[PX_CUDA_MAX_DEVICES];
};

struct px_cuda_options {
  const char *library;  // for dlopen: "libcuda.so.1" or a path
  const char *device_node;  // "/dev/nvidiactl": if it exists without a library, the report has a fix
  int hang_ms;  // after so long the state is PX_CUDA_HANGING
  // What errors mean: records of four strings, each ended by a NUL: key (a CUresult in
  // decimal, or one of "no_library", "symbol", "hanging", "forked", "thread", "other"),
  // state, CUDA's name, fix. fixes_len bytes, at most PX_CUDA_FIXES_MAX; copied.
  const char *fixes;
  size_t fixes_len;
};

// Starts the side thread. Once in a process, by any thread.
// Returns 0; EALREADY for a second call; EINVAL for options out of bounds; EAGAIN or another
// error number where no thread could be made (the state is then PX_CUDA_FAILED).
int px_cuda_start(const struct px_cuda_options *options);

// The state now. Any thread, also in a signal handler; does not wait.
int px_cuda_state(void);

// Waits until the start has ended or hangs, but at most timeout_ms (negative: no limit);
// then fills out, which may be NULL. Any thread. Returns 1 if the start has ended, else 0.
int px_cuda_wait(int timeout_ms, struct px_cuda_report *out);

// px_cuda_wait, with the report as a JSON object in ASCII. Its keys are those of Report in
// report.go. Any thread. Returns the length without the final NUL; if that is not below cap, the
// buffer is too small and has an empty string (nothing for cap 0).
size_t px_cuda_report_json(char *buf, size_t cap, int timeout_ms);

// The name of a state in the JSON, such as "ready". Any thread; static memory; never NULL.
const char *px_cuda_state_name(int state);

// Whether the table of moves allows it. Any thread.
int px_cuda_may_move(int from, int to);

#endif
