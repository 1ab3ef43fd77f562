// codec_bigint.c reads and writes integers beyond 64 bits.
#ifndef CODEC_BIGINT_H
#define CODEC_BIGINT_H

#include <stddef.h>

#include "base_mem.h"
#include "base_python.h"

// px_json_read_bigint makes an int of n decimal digits, n > 0. GIL. New
// reference, or NULL with MemoryError.
PyObject *px_json_read_bigint(const char *digits, size_t n, int negative);

// px_json_write_bigint appends the int o, of at least 64 bits; of a subclass
// it is the value. GIL; no Python code runs. 0, or -1 with *why set for too
// many digits, else with a Python error.
int px_json_write_bigint(struct px_buf *out, PyObject *o, const char **why);

#endif
