// The functions of this package's C code that Go calls.
#ifndef PX_MAIN_H
#define PX_MAIN_H

#include <stddef.h>

struct px_config {
  const void *api;        // cpy3's Library.Table
  const char *python;     // the interpreter's path, unresolved: a venv is found by it
  const char *bootstrap;  // Python source that takes over
  const char *json;       // for the bootstrap, as _px.config; valid until the process ends
  void *cuda_report;      // cuda.ReportFunc, or NULL
  int control_fd, page_fd;
  // For the preload process, which leaves CUDA to its workers; title is NULL in a worker.
  char *title;  // where the process's name lies, as ps shows it, of title_len bytes
  size_t title_len;
  int (*cuda_start)(const void *);  // NULL: it is not to be started
  const void *cuda_options;
};

// px_main makes the calling thread, which must be the process's first, Python's
// main thread and returns when the interpreter has ended: its exit status, or
// 1 after a line on stderr where the worker could not be set up. Call it once.
int px_main(const struct px_config *config);

// px_block_signals makes all other threads block every signal, also those that Go unblocks in its threads. Otherwise they
// would take signals that the model blocks in its own threads. Call it on the first thread, while the others are Go's
// alone. It returns their number.
int px_block_signals(void);

#endif
