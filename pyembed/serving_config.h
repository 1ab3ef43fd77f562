// What the process is started with, from Go.
#ifndef SERVING_CONFIG_H
#define SERVING_CONFIG_H

#include <stddef.h>

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

#endif
