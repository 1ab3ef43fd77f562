// codec_number_in.c reads numbers.
#ifndef CODEC_NUMBER_IN_H
#define CODEC_NUMBER_IN_H

#include <stdbool.h>
#include <stdint.h>

#include "base_mem.h"
#include "base_python.h"

// px_json_read_number reads the number at *p, which is a digit or a minus, and
// moves *p behind it. GIL. New reference. NULL with *why set and *p where the
// text is wrong, else with a Python error. scratch is overwritten.
PyObject *px_json_read_number(const char **p, const char *end, struct px_buf *scratch, const char **why);

// A number as it stands in the text.
struct px_json_number {
  enum {
    PX_JSON_INT,        // i
    PX_JSON_FLOAT,      // d
    PX_JSON_LONG_INT,   // it does not fit i
    PX_JSON_LONG_FLOAT  // px_json_convert makes d of it
  } kind;
  bool negative;
  const char *digits;  // of an integer: they end where the number does
  int64_t i;
  double d;
};

// px_json_take_number reads the number at *p, which is a digit or a minus, into *v, and moves *p behind it. 0, or -1 if
// the text is wrong. No GIL.
int px_json_take_number(const char **p, const char *end, struct px_json_number *v);

// px_json_convert has CPython convert the number from s to end, of any length, correctly rounded; beyond the range of a
// double *v is infinite. GIL. 0, or -1 with a Python error. scratch is overwritten.
int px_json_convert(const char *s, const char *end, struct px_buf *scratch, double *v);

#endif
