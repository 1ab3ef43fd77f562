#include "px_python.h"

const struct cpy3_api *px_py;

int px_python_use(const struct cpy3_api *api) {
  if (!api || api->size != sizeof *api) return -1;
  px_py = api;
  return 0;
}
