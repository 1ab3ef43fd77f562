// The arguments of this process, for libraries that change its title.
#include <stddef.h>
#include <wchar.h>

#include "base_python.h"

// Py_GetArgcArgv stands before CPython's own, which returns what px_main gave Py_BytesMain. setproctitle looks for those
// strings in front of the environment, finds the worker's arguments there and gives up. Without arguments it reads
// /proc/self/cmdline instead.
PX_VISIBLE void Py_GetArgcArgv(int *argc, wchar_t ***argv) {
  *argc = 0;
  *argv = NULL;
}
