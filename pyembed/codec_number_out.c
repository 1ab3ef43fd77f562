// int and float to numbers of JSON.
#include "codec_number_out.h"

#include <math.h>

#include "codec_float.h"

static const char two_digits[] =
    "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
    "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
    "8081828384858687888990919293949596979899";

// decimal writes v so that it ends before end, and returns where it begins.
static char *decimal(char *end, uint64_t v) {
  while (v >= 100) {
    end -= 2;
    memcpy(end, two_digits + v % 100 * 2, 2);
    v /= 100;
  }
  if (v >= 10) {
    end -= 2;
    memcpy(end, two_digits + v * 2, 2);
  } else {
    *--end = (char)('0' + v);
  }
  return end;
}

int px_json_write_int64(struct px_buf *out, int64_t v) {
  char text[24], *end = text + sizeof text;
  char *p = decimal(end, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
  if (v < 0) *--p = '-';
  return px_buf_put(out, p, (size_t)(end - p));
}

// put_fixed appends digits * 10**exponent without an exponent: ddd.ddd, as
// repr does from 1e-4 to 1e16. 0, or -1 without memory.
static int put_fixed(struct px_buf *out, int negative, uint64_t digits, int exponent) {
  char text[24], *end = text + sizeof text, *p = decimal(end, digits);
  int n = (int)(end - p), point = n + exponent;  // digits before the point
  if (px_buf_reserve(out, 32) < 0) return -1;    // 17 digits, or 4 zeros and 17, and signs
  char *to = out->data + out->len;
  if (negative) *to++ = '-';
  if (point <= 0) {
    memcpy(to, "0.0000", 6);
    to += 2 - point;
    memcpy(to, p, (size_t)n);
    to += n;
  } else if (point >= n) {
    memcpy(to, p, (size_t)n);
    to += n;
    memset(to, '0', (size_t)(point - n));
    to += point - n;
    memcpy(to, ".0", 2);
    to += 2;
  } else {
    memcpy(to, p, (size_t)point);
    to += point;
    *to++ = '.';
    memcpy(to, p + point, (size_t)(n - point));
    to += n - point;
  }
  out->len = (size_t)(to - out->data);
  return 0;
}

// few_decimals finds the decimal that repr shows where it has at most three
// places, as rounded values do: 1 if so.
//
// If m is an integer and m / 1000 rounds to a, then the decimal reads back as
// a. With at most 15 digits no other one of so few digits does, for a double
// holds 15, and so it is the shortest.
static int few_decimals(double a, uint64_t *digits, int *exponent) {
  double m = a * 1000;
  if (!(m < 1e15) || m != (double)(uint64_t)m || m / 1000 != a) return 0;
  uint64_t d = (uint64_t)m;
  int e = -3;
  for (; e < 0 && d % 10 == 0; e++) d /= 10;
  *digits = d;
  *exponent = e;
  return 1;
}

int px_json_write_float(struct px_buf *out, double v) {
  uint64_t digits;
  int exponent, rc = -1;
  char *text = NULL;

  double a = fabs(v);
  if (few_decimals(a, &digits, &exponent) || px_json_double_to_decimal(a, &digits, &exponent)) {
    rc = put_fixed(out, signbit(v) != 0, digits, exponent);
  } else {
    text = PyOS_double_to_string(v, 'r', 0, Py_DTSF_ADD_DOT_0, NULL);
    if (text) rc = px_buf_put(out, text, strlen(text));
    PyMem_Free(text);
  }
  if (rc < 0) PyErr_NoMemory();
  return rc;
}
