// px_json_read.c makes Python objects of JSON.
#ifndef PX_JSON_READ_H
#define PX_JSON_READ_H

#include <stddef.h>

#include "px_frame.h"
#include "px_python.h"

// px_json_loads reads the n bytes at s, which need no NUL behind them and are
// not kept. New reference, or NULL with ValueError "invalid JSON at byte N:
// reason" (N counts from 0) or MemoryError set. Runs no Python code of the
// model's but what a garbage collection may run.
PyObject *px_json_loads(const char *s, size_t n);

// Members that are read as arrays: those of the object that is the member `within` of the outermost one. code says what
// an array holds, as Python's module struct does: one of b B h H i I q f d.
#define PX_JSON_ARRAYS 64

struct px_json_arrays {
  PyObject *within;
  int n;
  struct {
    PyObject *name;
    char code;
  } list[PX_JSON_ARRAYS];
};

// px_json_loads_arrays is px_json_loads, but that those members become (data, shape) where they can: a bytearray, and a
// tuple of lengths. Any other value, as lists of several lengths or a number that the code does not have, is what
// px_json_loads gives. Where arrays is not NULL, tensors in binary are read too, at any place: as (data, shape, code),
// and a number as a float. The elements of some may lie in shared.
PyObject *px_json_loads_arrays(const char *s, size_t n, const struct px_json_arrays *arrays, struct px_shared shared);

#endif
