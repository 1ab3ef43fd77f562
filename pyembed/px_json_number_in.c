// Numbers of JSON to int and float.
#include <float.h>
#include <math.h>

#include "px_json_impl.h"

static int is_digit(const char *p, const char *end) { return p < end && *p >= '0' && *p <= '9'; }

static PyObject *read_int(const char *digits, size_t n, uint64_t value, int negative, const char **why) {
  if (n <= 18) return PyLong_FromLongLong(negative ? -(long long)value : (long long)value);
  if (n <= PX_JSON_DIGITS) return px_json_read_bigint(digits, n, negative);
  *why = "integer of more than 100000 digits";
  return NULL;
}

// exact computes mantissa * 10**exponent where two exact operands and one
// rounding give the correctly rounded result (Clinger, "How to read floating
// point numbers accurately", 1990). 0 if it cannot.
static int exact(uint64_t mantissa, int exponent, double *v) {
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

// read_slowly has CPython convert the text, correctly rounded, for any length.
static PyObject *read_slowly(const char *s, const char *end, struct px_buf *scratch, const char **why) {
  scratch->len = 0;
  if (px_buf_put(scratch, s, (size_t)(end - s)) < 0 || px_buf_putc(scratch, 0) < 0) return PyErr_NoMemory();
  double v = PyOS_string_to_double(scratch->data, NULL, NULL);
  if (v == -1.0 && PyErr_Occurred()) return NULL;
  if (isinf(v)) {
    *why = "number out of the range of a double";
    return NULL;
  }
  return PyFloat_FromDouble(v);
}

struct decimal {
  uint64_t mantissa;
  int digits;    // of the mantissa, without leading zeros; beyond 19 it has overflowed
  int exponent;  // of ten
};

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
// eight_digits takes eight digits at once: 0 if there are not so many.
static int eight_digits(const char *p, const char *end, uint64_t *value) {
  uint64_t x;
  if (end - p < 8) return 0;
  memcpy(&x, p, sizeof x);
  x ^= 0x3030303030303030;  // digits become 0 to 9, all else more
  if ((x | (x + 0x7676767676767676)) & 0x8080808080808080) return 0;
  x = x * 10 + (x >> 8);  // in every other byte the value of two digits, of the lowest first
  *value = ((x & 0x000000ff000000ff) * (100 + (1000000ull << 32)) +
            (x >> 16 & 0x000000ff000000ff) * (1 + (10000ull << 32))) >>
           32;
  return 1;
}
#else
static int eight_digits(const char *p, const char *end, uint64_t *value) { return (void)p, (void)end, (void)value, 0; }
#endif

static const char *take_digits(const char *p, const char *end, struct decimal *d) {
  uint64_t eight;
  for (; is_digit(p, end); p++) {
    while ((d->mantissa || *p != '0') && eight_digits(p, end, &eight)) {
      d->mantissa = d->mantissa * 100000000 + eight;
      if (d->digits < 20) d->digits += 8;
      p += 8;
      if (!is_digit(p, end)) return p;
    }
    unsigned digit = (unsigned)(*p - '0');
    if (d->digits < 20 && (d->mantissa || digit)) d->digits++;
    d->mantissa = d->mantissa * 10 + digit;
  }
  return p;
}

// take_exponent reads what follows the letter E; NULL, with *p where a digit is missing.
static const char *take_exponent(const char **at, const char *end, struct decimal *d) {
  const char *p = *at;
  int negative = 0, e = 0;
  if (p < end && (*p == '+' || *p == '-')) negative = *p++ == '-';
  if (!is_digit(p, end)) {
    *at = p;
    return NULL;
  }
  for (; is_digit(p, end); p++)
    if (e < 100000) e = e * 10 + (*p - '0');  // far outside of what exact takes
  d->exponent += negative ? -e : e;
  return p;
}

PyObject *px_json_read_number(const char **at, const char *end, struct px_buf *scratch, const char **why) {
  const char *start = *at, *p = start;
  struct decimal d = {0};
  int negative = *p == '-', fractional = 0;
  double v;

  p += negative;
  const char *digits = p;
  if (!is_digit(p, end)) {
    *why = p < end && *p == 'I' ? "JSON has no NaN or infinity" : "expected a digit";
    goto failed;
  }
  p = take_digits(p, end, &d);
  if (*digits == '0' && p - digits > 1) {
    p = digits;
    *why = "number with a leading zero";
    goto failed;
  }
  if (p == end || (*p != '.' && *p != 'e' && *p != 'E')) {
    *at = p;
    PyObject *value = read_int(digits, (size_t)(p - digits), d.mantissa, negative, why);
    if (*why) *at = start;
    return value;
  }
  if (*p == '.') {
    const char *fraction = ++p;
    p = take_digits(p, end, &d);
    if (p == fraction) {
      *why = "expected a digit";
      goto failed;
    }
    fractional = p - fraction > 100000;  // the exponent would overflow
    if (!fractional) d.exponent = -(int)(p - fraction);
  }
  if (p < end && (*p == 'e' || *p == 'E')) {
    const char *exponent = ++p;
    p = take_exponent(&exponent, end, &d);
    if (!p) {
      p = exponent;
      *why = "expected a digit";
      goto failed;
    }
  }
  *at = p;
  if (!fractional && d.digits <= 19 &&
      (exact(d.mantissa, d.exponent, &v) || px_json_decimal_to_double(d.mantissa, d.exponent, &v)))
    return PyFloat_FromDouble(negative ? -v : v);
  PyObject *value = read_slowly(start, p, scratch, why);
  if (*why) *at = start;
  return value;

failed:
  *at = p;
  return NULL;
}
