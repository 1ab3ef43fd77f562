// codec_read.c makes Python objects of JSON.
#ifndef CODEC_READ_H
#define CODEC_READ_H

#include <stddef.h>

#include "codec_shared.h"
#include "base_python.h"

// px_json_loads reads the n bytes at s, which need no NUL behind them and are
// not kept. GIL. New reference, or NULL with ValueError "invalid JSON at byte
// N: reason" (N counts from 0) or MemoryError. It runs no Python code of the
// model, except what a garbage collection may run.
PyObject *px_json_loads(const char *s, size_t n);

// Members that are read as arrays. They are members of an object, which is itself the member `within` of the outermost
// object. code is the type of the numbers, as in Python's module struct: one of b B h H i I q f d.
#define PX_JSON_ARRAYS 64

struct px_json_arrays {
  PyObject *within;
  int n;
  struct {
    PyObject *name;
    char code;
  } list[PX_JSON_ARRAYS];
};

// px_json_loads_arrays is px_json_loads, except that those members become (data, shape) if they can: a bytearray, and a
// tuple of lengths. A value that does not fit, such as lists of several lengths or a number out of the code's range,
// becomes what px_json_loads makes of it. If arrays is not NULL, tensors in binary are read too, at any place: as
// (data, shape, code), and a binary number as a float. The elements of tensors may lie in shared.
PyObject *px_json_loads_arrays(const char *s, size_t n, const struct px_json_arrays *arrays, struct px_shared shared);

#endif
