// Opening libpython and filling the table of cpy3.h.
#ifndef CPY3_OPEN_H
#define CPY3_OPEN_H

#include "cpy3.h"

enum cpy3_status {
  CPY3_OK,
  CPY3_NO_MEMORY,
  CPY3_NO_LIBRARY,     // dlopen failed; detail: what dlerror says
  CPY3_NOT_PYTHON,     // no Py_GetVersion, or its answer is not a version
  CPY3_TOO_OLD,        // detail: the version
  CPY3_FREE_THREADED,  // before 3.14; detail: the version
  CPY3_BAD_LAYOUT,     // objects do not have their type where this kind of build has it (Py_TRACE_REFS)
  CPY3_NO_SYMBOL,      // detail: its name
};

// cpy3_open opens the library at path with RTLD_NOW|RTLD_GLOBAL (extension
// modules of static Pythons find the API only there) and fills a new table.
//
// Any thread, before or after the interpreter started. On CPY3_OK *api is a
// table for the rest of the process: libpython cannot be unloaded again. On
// anything else *api is NULL, the library is closed, and detail (n bytes, n > 0)
// has a NUL-terminated text.
enum cpy3_status cpy3_open(const char *path, struct cpy3_api **api, char *detail, size_t n);

// The calls that Go makes itself.
const char *cpy3_version(const struct cpy3_api *api);
int cpy3_bytes_main(const struct cpy3_api *api, int argc, char **argv);
void cpy3_initialize(const struct cpy3_api *api, int signals);
int cpy3_run(const struct cpy3_api *api, const char *code);

#endif
