// codec_walk.c keeps the items of dicts that are being written while Python code runs, which may change the dicts.
#ifndef CODEC_WALK_H
#define CODEC_WALK_H

#include <stddef.h>

#include "base_python.h"

// A dict that is being written; they are chained from the innermost outwards.
struct px_json_walk {
  struct px_json_walk *outer;
  PyObject *dict;
  Py_ssize_t pos;  // of PyDict_Next
  // The items that remained when Python code was about to run: key, value, key ... all owned. NULL while the dict
  // itself can be asked.
  PyObject **remaining;
  size_t next, count;
};

// px_json_walk_keep takes references to the remaining items of the dicts from innermost outwards. Call it before
// anything that may run Python code. GIL. 0, or -1 with MemoryError.
int px_json_walk_keep(struct px_json_walk *innermost);

// px_json_walk_end drops those references. GIL; may run Python code.
void px_json_walk_end(struct px_json_walk *walk);

#endif
