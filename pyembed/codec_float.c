// Between doubles and decimals of up to 19 digits with a small exponent of
// ten, in integers of 128 bits: everything is exact, and rounded once.
//
// These are nearly all floats that a model reads or writes, and CPython's
// conversions, which handle every case, take about ten times as long.
#include "codec_float.h"

#include <string.h>

typedef unsigned __int128 wide;

// The powers of five that fit in 64 bits; 10**k is 5**k with a shift.
// clang-format off
#define POWERS(X) \
  X(1u) X(5u) X(25u) X(125u) X(625u) X(3125u) X(15625u) X(78125u) X(390625u) X(1953125u) X(9765625u)         \
  X(48828125u) X(244140625u) X(1220703125u) X(6103515625u) X(30517578125u) X(152587890625u) X(762939453125u) \
  X(3814697265625u) X(19073486328125u) X(95367431640625u) X(476837158203125u) X(2384185791015625u)           \
  X(11920928955078125u) X(59604644775390625u) X(298023223876953125u) X(1490116119384765625u)                 \
  X(7450580596923828125u)
// clang-format on
#define MAX_POWER 27

#define AS_IT_IS(f) f,
static const uint64_t five[MAX_POWER + 1] = {POWERS(AS_IT_IS)};

// 2**191 / f, truncated, where f is shifted until its highest bit is set, so
// that it has 128 bits. (For f = 1, which is not used, it would have more.)
#define SHIFTED(f) ((uint64_t)(f) << __builtin_clzll(f))
#define INVERSE(f) \
  {(uint64_t)(((wide)1 << 127) / SHIFTED(f)), (uint64_t)((((wide)1 << 127) % SHIFTED(f) << 64) / SHIFTED(f))},
static const struct inverse {
  uint64_t high, low;
} inverse[MAX_POWER + 1] = {POWERS(INVERSE)};

// round_to_double gives (high + a fraction, if sticky) * 2**exponent as a double,
// ties to even. high has at least 54 bits; the result must be in the range of
// normal doubles.
static double round_to_double(uint64_t high, int sticky, int exponent) {
  int drop = 64 - __builtin_clzll(high) - 53;
  uint64_t mantissa = high >> drop;
  uint64_t below = high & (((uint64_t)1 << drop) - 1), half = (uint64_t)1 << (drop - 1);
  if (below > half || (below == half && (sticky || (mantissa & 1)))) mantissa++;  // 2**53 at most: exact, too
  uint64_t bits = (uint64_t)(exponent + drop + 1023) << 52;
  double scale;  // a power of two
  memcpy(&scale, &bits, sizeof scale);
  return (double)mantissa * scale;
}

int px_json_decimal_to_double(uint64_t digits, int64_t power, double *v) {
  if (power < -MAX_POWER || power > MAX_POWER) return 0;
  if (digits == 0) {
    *v = 0;
    return 1;
  }
  int exponent = (int)power, shift = __builtin_clzll(digits);
  uint64_t n = digits << shift;
  if (exponent >= 0) {
    wide product = (wide)n * five[exponent];  // at least 64 bits
    int zeros = product >> 64 ? __builtin_clzll((uint64_t)(product >> 64)) : 64;
    product <<= zeros;
    *v = round_to_double((uint64_t)(product >> 64), (uint64_t)product != 0, exponent - shift - zeros + 64);
    return 1;
  }
  uint64_t divisor = five[-exponent];
  int divisor_shift = __builtin_clzll(divisor);
  // By the inverse the quotient, of 63 or 64 bits and 64 behind the point, is
  // too small by less than two in the last of them. If these are neither all
  // ones nor all zeros, then those before the point are right, and there is a remainder.
  wide product = (wide)n * inverse[-exponent].high + (uint64_t)((wide)n * inverse[-exponent].low >> 64);
  if ((uint64_t)product + 1 > 1) {
    *v = round_to_double((uint64_t)(product >> 64), 1, exponent + divisor_shift - shift - 63);
    return 1;
  }
  divisor <<= divisor_shift;
  // 2**125 <= the dividend < 2**126, so that the quotient has 62 or 63 bits.
  wide dividend = (wide)n << 62;
  uint64_t quotient = (uint64_t)(dividend / divisor);
  int sticky = (wide)quotient * divisor != dividend;
  *v = round_to_double(quotient, sticky, exponent + divisor_shift - shift - 62);
  return 1;
}

int px_json_double_to_decimal(double v, uint64_t *digits, int *exponent) {
  // For each power of ten from 1e-4 to 1e16.
  static const double ten[] = {1e-4, 1e-3, 1e-2, 1e-1, 1e0,  1e1,  1e2,  1e3,  1e4,  1e5, 1e6,
                               1e7,  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16};
  uint64_t bits;
  if (!(v >= ten[0] && v < ten[20])) return 0;
  memcpy(&bits, &v, sizeof bits);
  uint64_t mantissa = (bits & (((uint64_t)1 << 52) - 1)) | (uint64_t)1 << 52;
  int binary = (int)(bits >> 52) - 1023 - 52;  // v = mantissa * 2**binary
  // Below a power of two the doubles are closer together than above it.
  if (mantissa == (uint64_t)1 << 52) return 0;

  // k makes v * 10**k a number of 17 digits before the point. 10**e <= v < 10**(e + 1);
  // 1233 / 4096 is log10(2), a little less, so that the guess is e or one below.
  int e = ((binary + 52) * 1233) >> 12;
  if (e < -4) e = -4;
  if (e < 15 && v >= ten[e + 1 + 4]) e++;
  int k = 16 - e;

  // All in units of 10**-k * 2**-scale: v and half the distance to the next
  // double. 17 digits always tell doubles apart, that is, twice that half is
  // more than 10**-k.
  int scale = 1 - binary - k;
  wide half = five[k], middle = (wide)mantissa * 2 * half;
  if (scale < 0) {
    half <<= -scale;
    middle <<= -scale;
    scale = 0;
  }

  // The integers that read back as v are those above a and up to b: a is
  // middle - half truncated, b the last below middle + half. (A decimal halfway
  // between two doubles would read as the even one, but below 1e16 such
  // decimals have more digits than the doubles themselves.)
  uint64_t a = (uint64_t)((middle - half) >> scale), b = (uint64_t)((middle + half - 1) >> scale);

  // The largest power of ten with a multiple among them: the fewest digits.
  uint64_t power = 1;
  int dropped = 0;
  while (a / 10 < b / 10) {
    a /= 10;
    b /= 10;
    power *= 10;
    dropped++;
  }
  // Of its multiples the nearest to v: it is among them if any is, for they
  // reach as far from v on both sides.
  uint64_t below = (uint64_t)(middle >> scale) / power;
  wide remainder = middle - (((wide)below * power) << scale), unit = (wide)power << scale;
  if (remainder * 2 == unit) return 0;  // CPython decides
  *digits = below + (remainder * 2 > unit);
  *exponent = dropped - k;
  return 1;
}
