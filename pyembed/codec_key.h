// codec_key.c caches the keys of objects.
#ifndef CODEC_KEY_H
#define CODEC_KEY_H

#include <stddef.h>

#include "base_python.h"

// px_json_pin_key makes px_json_loads return this very str for an equal key,
// so that a predictor's parameter names match by identity. It takes its own
// reference. Names of more than 32 bytes in UTF-8 are ignored, and so is a key
// whose places in the cache are all pinned: pin a few dozen at most. GIL. 0,
// or -1 with an exception.
int px_json_pin_key(PyObject *key);

// px_json_clear drops every cached key. Call it before the interpreter ends;
// otherwise the keys stay until the process ends. GIL.
void px_json_clear(void);

// px_json_key returns the str of the n bytes at s, from the cache if it is
// there. GIL. New reference, or NULL with UnicodeDecodeError or MemoryError.
PyObject *px_json_key(const char *s, size_t n);

#endif
