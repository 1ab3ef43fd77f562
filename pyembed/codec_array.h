// codec_array.c reads lists of numbers into the memory of arrays.
#ifndef CODEC_ARRAY_H
#define CODEC_ARRAY_H

#include "base_mem.h"
#include "base_python.h"

// px_json_read_array reads the array whose bracket is at *p, and moves *p behind it. It returns (data, shape): a
// bytearray of numbers of that code, and a tuple of lengths. It returns NULL without an error, and leaves *p, if the
// value is anything but nested lists of numbers with one length on each level, or if an integer does not fit the code;
// floats are rounded. NULL with a Python error without memory. GIL. New reference. scratch is overwritten.
PyObject *px_json_read_array(const char **p, const char *end, struct px_buf *scratch, char code);

#endif
