// Integers of more than 64 bits.
//
// CPython bounds the digits of its decimal conversions (sys.set_int_max_str_digits),
// and from 3.12 on runs Python code for large ones. Hexadecimal has neither,
// so the change of base is done here, 19 digits at a time. It takes time
// quadratic in the length: PX_JSON_DIGITS is about 10 ms to read, 30 ms to write.
#include "codec_bigint.h"

#include "codec_limits.h"

#define GROUP 19                              // decimal digits in a limb
#define TEN_TO_GROUP 10000000000000000000u    // 10**19; its top bit is set
#define RECIPROCAL 0xd83c94fb6d2ac34au        // (2**128 - 1) / 10**19 - 2**64
#define FEW 8                                 // limbs that live on the stack
#define ABREAST 4

typedef unsigned __int128 wide;

static const char hex_digits[] = "0123456789abcdef";

static uint64_t read_group(const char *digits, size_t n) {
  uint64_t v = 0;
  for (size_t i = 0; i < n; i++) v = v * 10 + (uint64_t)(digits[i] - '0');
  return v;
}

// to_limbs sets limb, lowest first, to the value of n digits: how many were needed.
static size_t to_limbs(uint64_t *limb, const char *digits, size_t n) {
  size_t used = 0, take = n % GROUP;
  for (; n > 0; digits += take, n -= take, take = GROUP) {
    if (take == 0) take = GROUP;
    uint64_t carry = read_group(digits, take);
    for (size_t i = 0; i < used; i++) {
      wide product = (wide)limb[i] * TEN_TO_GROUP + carry;
      limb[i] = (uint64_t)product;
      carry = (uint64_t)(product >> 64);
    }
    if (carry || used == 0) limb[used++] = carry;
  }
  return used;
}

PyObject *px_json_read_bigint(const char *digits, size_t n, int negative) {
  uint64_t few[FEW], *limb = few;
  char few_text[FEW * 16 + 2], *text = few_text, *p;
  PyObject *value = NULL;
  size_t room = n / GROUP + 1, used;

  if (room > FEW) {
    limb = px_malloc(room * sizeof *limb);
    text = px_malloc(room * 16 + 2);
    if (!limb || !text) {
      PyErr_NoMemory();
      goto done;
    }
  }
  used = to_limbs(limb, digits, n);
  p = text;
  if (negative) *p++ = '-';
  for (size_t i = used; i > 0; i--)
    for (int shift = 60; shift >= 0; shift -= 4) *p++ = hex_digits[limb[i - 1] >> shift & 15];
  *p = 0;
  value = PyLong_FromString(text, NULL, 16);
done:
  if (limb != few) px_free(limb);
  if (text != few_text) px_free(text);
  return value;
}

// from_hex sets limb, lowest first, to the value of n digits: how many were needed.
static size_t from_hex(uint64_t *limb, const char *digits, size_t n) {
  size_t used = 0;
  while (n > 0) {
    size_t take = n < 16 ? n : 16;
    uint64_t v = 0;
    for (size_t i = n - take; i < n; i++)
      v = v << 4 | (uint64_t)(digits[i] <= '9' ? digits[i] - '0' : digits[i] - 'a' + 10);
    limb[used++] = v;
    n -= take;
  }
  return used;
}

// step divides remainder * 2**64 + limb by TEN_TO_GROUP, remainder being below that:
// algorithm 4 of Moeller and Granlund, "Improved division by invariant
// integers" (2011), two multiplications in place of a division.
static uint64_t step(uint64_t limb, uint64_t *remainder) {
  wide q = (wide)RECIPROCAL * *remainder + ((wide)*remainder << 64 | limb);
  uint64_t quotient = (uint64_t)(q >> 64) + 1;
  uint64_t r = limb - quotient * TEN_TO_GROUP;
  uint64_t too_much = 0 - (uint64_t)(r > (uint64_t)q);  // all bits or none: a branch would be guessed wrong
  quotient += too_much;
  r += too_much & TEN_TO_GROUP;
  if (r >= TEN_TO_GROUP) {
    quotient++;
    r -= TEN_TO_GROUP;
  }
  *remainder = r;
  return quotient;
}

// put_decimal writes the limbs, which it destroys, so that they end before end: where they begin.
static char *put_decimal(char *end, uint64_t *limb, size_t used) {
  while (used > 0) {
    // ABREAST divisions in one pass, each of the quotient before it: a single
    // one would wait for its own remainder at each step.
    uint64_t remainder[ABREAST] = {0};
    for (size_t i = used; i > 0; i--) {
      uint64_t x = limb[i - 1];
      for (int k = 0; k < ABREAST; k++) x = step(x, &remainder[k]);
      limb[i - 1] = x;
    }
    while (used > 0 && limb[used - 1] == 0) used--;
    for (int k = 0; k < ABREAST; k++)
      for (int i = 0; i < GROUP; i++, remainder[k] /= 10) *--end = (char)('0' + remainder[k] % 10);
  }
  while (*end == '0') end++;  // the value is not 0
  return end;
}

int px_json_write_bigint(struct px_buf *out, PyObject *o, const char **why) {
  uint64_t few[FEW], *limb = few;
  const char *hex = NULL;
  char *end, *start;
  Py_ssize_t length;
  size_t used, room;
  int rc = -1, negative;

  // PyNumber_Index gives an exact int, also of a subclass, without a call of its methods.
  PyObject *text = NULL, *exact = PyNumber_Index(o);
  if (exact) text = PyNumber_ToBase(exact, 16);
  if (text) hex = PyUnicode_AsUTF8AndSize(text, &length);
  if (!hex) goto done;
  negative = hex[0] == '-';
  hex += negative + 2;  // 0x
  length -= negative + 2;
  // 10**PX_JSON_DIGITS has 332193 bits; bounded here, for the loop is quadratic.
  if (length > 332193 / 4 + 1) goto too_long;
  used = ((size_t)length + 15) / 16;
  if (used > FEW) limb = px_malloc(used * sizeof *limb);
  room = used * (GROUP + 1) + GROUP * ABREAST + 1;  // 2**64 is less than 10**20
  if (!limb || px_buf_reserve(out, room) < 0) {
    PyErr_NoMemory();
    goto done;
  }
  end = out->data + out->len + room;
  start = put_decimal(end, limb, from_hex(limb, hex, (size_t)length));
  if (end - start > PX_JSON_DIGITS) goto too_long;
  if (negative) *--start = '-';
  memmove(out->data + out->len, start, (size_t)(end - start));
  out->len += (size_t)(end - start);
  rc = 0;
  goto done;
too_long:
  *why = "int of more than 100000 digits";
done:
  if (limb != few) px_free(limb);
  Py_DecRef(text);
  Py_DecRef(exact);
  return rc;
}
