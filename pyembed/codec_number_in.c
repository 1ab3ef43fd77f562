// Numbers of JSON to int and float.
#include "codec_number_in.h"

#include <float.h>
#include <math.h>

#include "codec_bigint.h"
#include "codec_float.h"
#include "codec_limits.h"

static int is_digit(const char *p, const char *end) { return p < end && *p >= '0' && *p <= '9'; }

// exact computes mantissa * 10**exponent where two exact operands and one
// rounding give the correctly rounded result (Clinger, "How to read floating
// point numbers accurately", 1990). 0 if it cannot.
static int exact(uint64_t mantissa, int64_t exponent, double *v) {
#if FLT_EVAL_METHOD == 0
  static const double ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                               1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  if (mantissa > (uint64_t)1 << 53 || exponent < -22 || exponent > 22) return 0;
  *v = exponent < 0 ? (double)mantissa / ten[-exponent] : (double)mantissa * ten[exponent];
  return 1;
#else
  (void)mantissa, (void)exponent, (void)v;
  return 0;
#endif
}

int px_json_convert(const char *s, const char *end, struct px_buf *scratch, double *v) {
  scratch->len = 0;
  if (px_buf_put(scratch, s, (size_t)(end - s)) < 0 || px_buf_putc(scratch, 0) < 0) {
    PyErr_NoMemory();
    return -1;
  }
  *v = PyOS_string_to_double(scratch->data, NULL, NULL);
  return *v == -1.0 && PyErr_Occurred() ? -1 : 0;
}

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
// take_eight takes up to eight digits at once, of the eight bytes at p, and returns how many.
static inline int take_eight(const char *p, uint64_t *value) {
  static const uint64_t ten[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
  uint64_t x;
  memcpy(&x, p, sizeof x);
  x ^= 0x3030303030303030;  // digits become 0 to 9, all else more
  // A carry marks only bytes above one that is marked: the lowest is right.
  uint64_t other = (x | (x + 0x7676767676767676)) & 0x8080808080808080;
  int n = other ? __builtin_ctzll(other) >> 3 : 8;
  if (n == 0) return 0;
  x <<= 64 - 8 * n;       // zeros before the digits
  x = x * 10 + (x >> 8);  // in every other byte the value of two digits, of the lowest first
  x = ((x & 0x000000ff000000ff) * (100 + (1000000ull << 32)) +
       (x >> 16 & 0x000000ff000000ff) * (1 + (10000ull << 32))) >>
      32;
  *value = *value * ten[n] + x;
  return n;
}
#else
static int take_eight(const char *p, uint64_t *value) {
  int n = 0;
  for (; n < 8 && p[n] >= '0' && p[n] <= '9'; n++) *value = *value * 10 + (unsigned)(p[n] - '0');
  return n;
}
#endif

// take_digits takes the digits from p on, and returns where they end. Beyond 19 of them *value overflows.
static const char *take_digits(const char *p, const char *end, uint64_t *value) {
  char last[8] = {0};
  int n = 8;
  while (end - p >= 8) {
    n = take_eight(p, value);
    p += n;
    if (n < 8) return p;
  }
  memcpy(last, p, (size_t)(end - p));
  return p + take_eight(last, value);
}

// fits tells whether the digits of the number at p, up to end, are at most 19, except for zeros before the first other.
static int fits(const char *p, const char *end) {
  if (end - p <= 19) return 1;
  while (p < end && (*p == '0' || *p == '.')) p++;
  const char *point = memchr(p, '.', (size_t)(end - p));
  return end - p - (point != NULL) <= 19;
}

// take_exponent reads what follows the letter E; NULL, with *p where a digit is missing.
static const char *take_exponent(const char **at, const char *end, int64_t *exponent) {
  const char *p = *at;
  int negative = 0;
  int64_t e = 0;
  if (p < end && (*p == '+' || *p == '-')) negative = *p++ == '-';
  if (!is_digit(p, end)) {
    *at = p;
    return NULL;
  }
  for (; is_digit(p, end); p++)
    if (e < 1000000000000000) e = e * 10 + (*p - '0');  // more than a text could have digits
  *exponent += negative ? -e : e;
  return p;
}

// take reads the number at *at, which is a digit or a minus, and moves *at behind it. 0; -1: *why is set, and *at is
// where the text is wrong.
static inline int take(const char **at, const char *end, struct px_json_number *v, const char **why) {
  const char *start = *at, *p = start;
  uint64_t mantissa = 0;
  int64_t exponent = 0;
  double value;

  v->negative = *p == '-';
  p += v->negative;
  const char *digits = p;
  if (!is_digit(p, end)) {
    *why = p < end && *p == 'I' ? "JSON has no NaN or infinity" : "expected a digit";
    goto failed;
  }
  if (end - p > 1 && !is_digit(p + 1, end))
    mantissa = (unsigned)(*p++ - '0');
  else
    p = take_digits(p, end, &mantissa);
  if (*digits == '0' && p - digits > 1) {
    p = digits;
    *why = "number with a leading zero";
    goto failed;
  }
  if (p == end || (*p != '.' && *p != 'e' && *p != 'E')) {
    *at = p;
    v->digits = digits;
    v->kind = p - digits <= 18 ? PX_JSON_INT : PX_JSON_LONG_INT;
    v->i = (int64_t)(v->negative ? 0 - mantissa : mantissa);  // of no use where it has overflown
    return 0;
  }
  if (*p == '.') {
    const char *fraction = ++p;
    p = take_digits(p, end, &mantissa);
    if (p == fraction) {
      *why = "expected a digit";
      goto failed;
    }
    exponent = fraction - p;
  }
  const char *end_of_digits = p;
  if (p < end && (*p == 'e' || *p == 'E')) {
    const char *power = ++p;
    p = take_exponent(&power, end, &exponent);
    if (!p) {
      p = power;
      *why = "expected a digit";
      goto failed;
    }
  }
  *at = p;
  // Short ones mostly need one operation.
  bool near = fits(digits, end_of_digits) && ((mantissa < 1000000000000000 && exact(mantissa, exponent, &value)) ||
                                              px_json_decimal_to_double(mantissa, exponent, &value));
  v->kind = near ? PX_JSON_FLOAT : PX_JSON_LONG_FLOAT;
  if (near) v->d = v->negative ? -value : value;
  return 0;

failed:
  *at = p;
  return -1;
}

int px_json_take_number(const char **at, const char *end, struct px_json_number *v) {
  const char *why;
  return take(at, end, v, &why);
}

PyObject *px_json_read_number(const char **at, const char *end, struct px_buf *scratch, const char **why) {
  const char *start = *at;
  struct px_json_number v;
  if (take(at, end, &v, why) < 0) return NULL;
  switch (v.kind) {
    case PX_JSON_INT:
      return PyLong_FromLongLong(v.i);
    case PX_JSON_FLOAT:
      return PyFloat_FromDouble(v.d);
    case PX_JSON_LONG_INT:
      if (*at - v.digits <= PX_JSON_DIGITS) return px_json_read_bigint(v.digits, (size_t)(*at - v.digits), v.negative);
      *why = "integer of more than 100000 digits";
      break;
    case PX_JSON_LONG_FLOAT:
      if (px_json_convert(start, *at, scratch, &v.d) < 0) return NULL;
      if (!isinf(v.d)) return PyFloat_FromDouble(v.d);
      *why = "number out of the range of a double";
      break;
  }
  *at = start;
  return NULL;
}
