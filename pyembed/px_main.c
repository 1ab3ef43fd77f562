// The life of the worker process, from Go's call to Python's end.
#include "px_main.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "px_control.h"
#include "px_end.h"
#include "px_flusher.h"
#include "px_fork.h"
#include "px_logs.h"
#include "px_module.h"
#include "px_preload.h"
#include "px_receive.h"
#include "px_worker.h"

static int failed(const char *what) {
  fprintf(stderr, "pinion worker: %s: %s\n", what, strerror(errno));
  return 1;
}

int px_create_thread(pthread_t *thread, void *(*run)(void *)) {
  int error = pthread_create(thread, NULL, run, NULL);
  if (error != 0) errno = error;
  return error == 0 ? 0 : -1;
}

int px_start_threads(void) {
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  int status = px_control_start() == 0 && px_flusher_start() == 0 && px_cuda_reporter_start() == 0 ? 0 : -1;
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  return status;
}

int px_connect(int control_fd, int page_fd) {
  void *page = mmap(NULL, PX_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, page_fd, 0);
  if (page == MAP_FAILED) return failed("map the shared page");
  px_w.page = page;
  close(page_fd);
  if (atomic_load(&px_w.page->magic) != PX_PAGE_MAGIC) {
    fprintf(stderr, "pinion worker: the shared page is another version's\n");
    return 1;
  }
  if (px_channel_init(&px_w.control, control_fd, NULL, NULL) < 0) return failed("make the control channel");
  if (px_logs_init() < 0) return failed("duplicate the log pipes");
  return 0;
}

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
    if (px_preload_init(config) < 0) return failed("make the preload process's channel");
  } else if (px_connect(config->control_fd, config->page_fd) != 0) {
    return 1;
  }
  px_inherited_restore();
  px_signals_default();
  if (px_fork_hook(preload) < 0) return failed("register the fork hook");
  if (!preload && px_start_threads() < 0) return failed("start threads");
  if (PyImport_AppendInittab("_px", px_module_init) < 0) return failed("register _px");
  char *argv[] = {(char *)config->python, "-c", (char *)config->bootstrap, NULL};
  int status = Py_BytesMain(3, argv);
  px_await_end();
  // As under python: what libraries registered by atexit, and their destructors, run. Go's exit runs none of it. A
  // handler that does not return is ended by the front, with the process.
  exit(status);
}
