// px_json_float.c converts between decimals and doubles.
#ifndef PX_JSON_FLOAT_H
#define PX_JSON_FLOAT_H

#include <stdint.h>

// px_json_decimal_to_double sets *v to digits * 10**exponent, correctly
// rounded: 1; 0 for an exponent beyond 27 either way. No GIL.
int px_json_decimal_to_double(uint64_t digits, int64_t exponent, double *v);

// px_json_double_to_decimal finds the decimal digits * 10**exponent that repr
// shows for v: of those that read back as v, one with the fewest digits, and
// of these the nearest. 1; 0 where v is not of 1e-4 to 1e16 or, rarely, a case
// that is left to CPython. No GIL.
int px_json_double_to_decimal(double v, uint64_t *digits, int *exponent);

#endif
