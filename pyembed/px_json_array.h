// px_json_array.c reads lists of numbers into the memory of arrays.
#ifndef PX_JSON_ARRAY_H
#define PX_JSON_ARRAY_H

#include "px_mem.h"
#include "px_python.h"

// px_json_read_array reads the array at *p, which is its bracket, and moves *p behind it: (data, shape), a bytearray of
// numbers of that code and a tuple of lengths. GIL. New reference. NULL, with *p as it was, where it is anything but
// lists of numbers that the code has exactly or, of floats, rounded, in which all lists of a level are of one length;
// or with a Python error. scratch is overwritten.
PyObject *px_json_read_array(const char **p, const char *end, struct px_buf *scratch, char code);

#endif
