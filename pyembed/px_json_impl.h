// Shared by the px_json_*.c files; px_json.h is what others include.
#ifndef PX_JSON_IMPL_H
#define PX_JSON_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "px_json.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

// px_json_scan finds the first byte of [p, end) that a JSON string cannot hold as
// it is: a quote, a backslash or a control character. end if there is none.
static inline const char *px_json_scan(const char *p, const char *end) {
#if defined(__SSE2__)
  const __m128i quote = _mm_set1_epi8('"'), slash = _mm_set1_epi8('\\'), control = _mm_set1_epi8(0x1f);
  for (; end - p >= 16; p += 16) {
    __m128i x = _mm_loadu_si128((const __m128i *)(const void *)p);
    __m128i hit = _mm_or_si128(_mm_cmpeq_epi8(x, quote), _mm_cmpeq_epi8(x, slash));
    // Unsigned x <= 0x1f, for which SSE2 has no comparison.
    hit = _mm_or_si128(hit, _mm_cmpeq_epi8(_mm_min_epu8(x, control), x));
    int bits = _mm_movemask_epi8(hit);
    if (bits) return p + __builtin_ctz((unsigned)bits);
  }
#endif
  while (p < end && *p != '"' && *p != '\\' && (unsigned char)*p > 0x1f) p++;
  return p;
}

// px_json_bad_utf8 is the first byte of [p, end) that does not begin or
// continue a sequence of strict UTF-8, or end.
const char *px_json_bad_utf8(const char *p, const char *end);

// px_json_key is the str for the n bytes at s, from the cache if it can be.
// GIL. New reference; NULL: a UnicodeDecodeError or MemoryError is set.
PyObject *px_json_key(const char *s, size_t n);

// px_json_read_number reads the number at *p, which is a digit or a minus, and
// moves *p behind it. GIL. New reference; NULL: either *why is set, and *p is
// where the text is wrong, or a Python error is. scratch is overwritten.
PyObject *px_json_read_number(const char **p, const char *end, struct px_buf *scratch, const char **why);

// px_json_attr is the attribute of o. GIL; may run Python code. New reference
// or NULL with an error set. PyObject_GetAttrString makes a new str each time,
// and CPython's cache of type attributes goes by address and keeps them all.
static inline PyObject *px_json_attr(PyObject *o, const char *name) {
  PyObject *key = PyUnicode_InternFromString(name);
  PyObject *value = key ? PyObject_GetAttr(o, key) : NULL;
  Py_DecRef(key);
  return value;
}

// A number as it stands in the text.
struct px_json_number {
  enum {
    PX_JSON_INT,        // i
    PX_JSON_FLOAT,      // d
    PX_JSON_LONG_INT,   // of too many digits for i
    PX_JSON_LONG_FLOAT  // one for px_json_convert
  } kind;
  bool negative;
  const char *digits;  // of whole numbers: they end where the number does
  int64_t i;
  double d;
};

// px_json_take_number takes the number at *p, which is a digit or a minus, and moves *p behind it. 0, or -1 where the text
// is wrong. No GIL.
int px_json_take_number(const char **p, const char *end, struct px_json_number *v);

// px_json_convert has CPython convert the number at s up to end, correctly rounded, for any length: infinity beyond the range
// of a double. GIL. 0, or -1 with a Python error. scratch is overwritten.
int px_json_convert(const char *s, const char *end, struct px_buf *scratch, double *v);

// px_json_read_array reads the array at *p, which is its bracket, and moves *p behind it: (data, shape), a bytearray of
// numbers of that code and a tuple of lengths. GIL. New reference. NULL, with *p as it was, where it is anything but lists
// of numbers that the code has exactly or, of floats, rounded, in which all lists of a level are of one length; or with a
// Python error. scratch is overwritten.
PyObject *px_json_read_array(const char **p, const char *end, struct px_buf *scratch, char code);

// px_json_decimal_to_double sets *v to digits * 10**exponent, correctly
// rounded: 1; 0 for an exponent beyond 27 either way. No GIL.
int px_json_decimal_to_double(uint64_t digits, int64_t exponent, double *v);

// px_json_double_to_decimal finds the decimal digits * 10**exponent that repr
// shows for v: of those that read back as v, one with the fewest digits, and
// of these the nearest. 1; 0 where v is not of 1e-4 to 1e16 or, rarely, a case
// that is left to CPython. No GIL.
int px_json_double_to_decimal(double v, uint64_t *digits, int *exponent);

// px_json_write_float appends v as repr would, v being finite. GIL. 0, or -1
// with MemoryError set.
int px_json_write_float(struct px_buf *out, double v);

// px_json_write_int64 appends v in decimal. No GIL; 0, or -1 without memory and no Python error.
int px_json_write_int64(struct px_buf *out, int64_t v);

// px_json_read_bigint makes an int of n decimal digits, n > 0. GIL. New
// reference or NULL with MemoryError set.
PyObject *px_json_read_bigint(const char *digits, size_t n, int negative);

// px_json_write_bigint appends the int o, of at least 64 bits, or a
// subclass's by its value. GIL; no Python code runs. 0; -1: either *why is
// set, for too many digits, or a Python error is.
int px_json_write_bigint(struct px_buf *out, PyObject *o, const char **why);

// Where in a value the object is that could not be written, such as
// ["boxes"][3], made from its end while the error goes up through the
// containers. Begin with wanted = 0: then the functions do nothing, until
// px_json_place_begin says that an error was raised that wants its place.
struct px_json_place {
  int wanted;
  size_t at;  // where in text it begins
  char text[200];
};

void px_json_place_begin(struct px_json_place *p);
void px_json_place_index(struct px_json_place *p, Py_ssize_t i);
void px_json_place_key(struct px_json_place *p, const char *key, size_t n);  // as written, in quotes

// px_json_place_raise raises the error that is set again, with the place in its text. GIL.
void px_json_place_raise(struct px_json_place *p);

#endif
