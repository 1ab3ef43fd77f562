// What the JSON bridge reads and writes: bytes of a frame to Python objects and back, without
// Python's json module.
//
// Functions that touch Python objects need the GIL of the main interpreter,
// to which the key cache belongs. None releases the GIL itself; px_json_dumps
// may run Python code (see there), which may.
//
// What is read and written is RFC 8259, and no more:
//   - nesting of arrays and objects up to PX_JSON_DEPTH;
//   - integers of up to PX_JSON_DIGITS digits, also beyond the limit that
//     sys.set_int_max_str_digits has set;
//   - floats correctly rounded; beyond the range of a double: refused;
//   - UTF-8 without byte order mark; lone surrogates are refused both as
//     escapes and in Python strings; NaN and infinity are refused both ways;
//   - of duplicate keys the last wins.
#ifndef CODEC_LIMITS_H
#define CODEC_LIMITS_H

#define PX_JSON_DEPTH 500
#define PX_JSON_DIGITS 100000

#endif
