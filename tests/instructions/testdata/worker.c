// A worker without Go, for callgrind, which cannot run Go's runtime: cmd/pinion/worker.go and pyembed.Main in C. All
// that serves a request is the same code, for no Go runs there.
//
//   worker PYTHON LIBPYTHON SDK     with its configuration in PINION_TEST_WORKER, the control channel at 3, the page at 4
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <valgrind/callgrind.h>

#include "open.h"
#include "serving_main.h"

// The model calls these two by ctypes, and so says which instructions are counted, and as what.
__attribute__((visibility("default"))) void begin_count(void);
__attribute__((visibility("default"))) void end_count(const char *name);

void begin_count(void) {
  CALLGRIND_START_INSTRUMENTATION;
  CALLGRIND_ZERO_STATS;
}

void end_count(const char *name) { CALLGRIND_DUMP_STATS_AT(name); }

int main(int argc, char **argv) {
  const char *json = getenv("PINION_TEST_WORKER");
  if (argc != 4 || !json) {
    fprintf(stderr, "usage: PINION_TEST_WORKER=JSON worker PYTHON LIBPYTHON SDK\n");
    return 2;
  }
  struct cpy3_api *api;
  char detail[512] = "", bootstrap[8192];
  if (cpy3_open(argv[2], &api, detail, sizeof detail) != CPY3_OK) {
    fprintf(stderr, "open %s: %s\n", argv[2], detail);
    return 1;
  }
  // The folder is the checkout's: no bytecode is left in it.
  snprintf(bootstrap, sizeof bootstrap,
           "import sys; sys.dont_write_bytecode = True; sys.path.insert(0, '%s'); "
           "from cog._worker import main; main.preload(False); main.main()",
           argv[3]);
  struct px_config config = {
      .api = api, .python = argv[1], .bootstrap = bootstrap, .json = strdup(json), .control_fd = 3, .page_fd = 4};
  unsetenv("PINION_TEST_WORKER");
  fcntl(3, F_SETFD, FD_CLOEXEC);
  fcntl(4, F_SETFD, FD_CLOEXEC);
  return px_main(&config);
}
