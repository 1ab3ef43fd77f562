// The JSON bridge: bytes of a frame to Python objects and back, without
// Python's json module.
//
// Every function here but px_json_put_string wants the GIL, in the main
// interpreter (the key cache belongs to it). No function releases the GIL by
// itself; px_json_dumps may run Python code (see there), which may.
//
// What is read and written is RFC 8259, and no more:
//   - nesting of arrays and objects up to PX_JSON_DEPTH;
//   - integers of up to PX_JSON_DIGITS digits, independent of the process's
//     sys.set_int_max_str_digits is, which is neither asked nor changed;
//   - floats correctly rounded; beyond the range of a double: refused;
//   - UTF-8 without byte order mark; lone surrogates are refused both as
//     escapes and in Python strings; NaN and infinity are refused both ways;
//   - of duplicate keys the last wins.
#ifndef PX_JSON_H
#define PX_JSON_H

#include "px_json_key.h"
#include "px_json_read.h"
#include "px_json_text.h"
#include "px_json_write.h"

#define PX_JSON_DEPTH 500
#define PX_JSON_DIGITS 100000

#endif
