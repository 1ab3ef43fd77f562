// px_json_key.c caches the keys of objects.
#ifndef PX_JSON_KEY_H
#define PX_JSON_KEY_H

#include <stddef.h>

#include "px_python.h"

// px_json_pin_key makes px_json_loads give this very str (borrowed here, a
// reference is kept) for an equal key, so that a predictor's parameter names
// match by identity. For names of up to 32 bytes in UTF-8; others are ignored.
// 0, or -1 with an exception set. At most a few dozen: when the places of a
// key are all pinned, the call is ignored.
int px_json_pin_key(PyObject *key);

// px_json_clear drops every cached key. Call before the interpreter ends, or
// not at all: then the keys end with the process.
void px_json_clear(void);

// px_json_key is the str for the n bytes at s, from the cache if it can be.
// GIL. New reference; NULL: a UnicodeDecodeError or MemoryError is set.
PyObject *px_json_key(const char *s, size_t n);

#endif
