// codec_float.c converts between decimals and doubles.
#ifndef CODEC_FLOAT_H
#define CODEC_FLOAT_H

#include <stdint.h>

// px_json_decimal_to_double sets *v to digits * 10**exponent, correctly
// rounded. It returns 1, or 0 if the exponent is not within -27 to 27. No GIL.
int px_json_decimal_to_double(uint64_t digits, int64_t exponent, double *v);

// px_json_double_to_decimal finds the decimal digits * 10**exponent that repr
// shows for v: of those that read back as v, one with the fewest digits, and
// of these the nearest. It returns 1, or 0 if v is not within 1e-4 to 1e16 or,
// rarely, if the case is left to CPython. No GIL.
int px_json_double_to_decimal(double v, uint64_t *digits, int *exponent);

#endif
