// The life of the worker process, from Go's call to Python's end.
#include "serving_main.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "serving_control.h"
#include "process_end.h"
#include "process_fork.h"
#include "serving_module.h"
#include "serving_preload.h"
#include "channel_worker.h"

int px_main(const struct px_config *config) {
  if (px_python_use(config->api) < 0) {
    fprintf(stderr, "pinion worker: the table of Python functions was built from another header\n");
    return 1;
  }
  px_mem_configure();
  // The kernel may end waits up to 50 µs late to save power. The model's waits end on time: those of its event loop and
  // queues too. Threads and children inherit this; if it is refused, nothing changes.
  prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0);
  px_w.config = config->json;
  *(void **)&px_w.cuda_report = config->cuda_report;
  bool preload = config->title != NULL;
  if (preload) {
    if (px_preload_init(config) < 0) return px_failed("make the preload process's channel");
  } else if (px_connect(config->control_fd, config->page_fd) != 0) {
    return 1;
  }
  px_inherited_restore();
  px_signals_default();
  if (px_fork_hook(preload) < 0) return px_failed("register the fork hook");
  if (!preload && px_start_threads() < 0) return px_failed("start threads");
  if (PyImport_AppendInittab("_px", px_module_init) < 0) return px_failed("register _px");
  char *argv[] = {(char *)config->python, "-c", (char *)config->bootstrap, NULL};
  int status = Py_BytesMain(3, argv);
  px_await_end();
  // As under python: what libraries registered by atexit, and their destructors, run. Go's exit runs none of it. A
  // handler that does not return is ended by the front, with the process.
  exit(status);
}
