// px_main.c runs the worker process. Go calls px_main.
#ifndef PX_MAIN_H
#define PX_MAIN_H

#include <pthread.h>
#include <stddef.h>

// px_connect sets up the connection to the front. stdout and stderr must be the log pipes. 0, or 1 after a line on
// stderr.
int px_connect(int control_fd, int page_fd);

// px_start_threads starts our threads with every signal blocked: Python's signals are for its main thread. 0, or -1
// with errno.
int px_start_threads(void);

// px_create_thread starts a thread. 0, or -1 with errno.
int px_create_thread(pthread_t *thread, void *(*run)(void *));

struct px_config {
  const void *api;        // cpy3's Library.Table
  const char *python;     // the interpreter's path, unresolved: a venv is found by it
  const char *bootstrap;  // the Python source that runs
  const char *json;       // for the bootstrap, as _px.config; valid until the process ends
  void *cuda_report;      // cuda.ReportFunc, or NULL
  int control_fd, page_fd;
  // For the preload process, which leaves CUDA to its workers; title is NULL in a worker.
  char *title;  // where the process's name lies, as ps shows it, of title_len bytes
  size_t title_len;
  int (*cuda_start)(const void *);  // NULL: CUDA is not started
  const void *cuda_options;
};

// px_main runs Python on the calling thread, which must be the process's
// first, and returns when the interpreter has ended: its exit status, or 1
// after a line on stderr if the worker could not be set up. Call it once.
int px_main(const struct px_config *config);

#endif
