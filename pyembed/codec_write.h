// codec_write.c makes JSON of Python objects.
#ifndef CODEC_WRITE_H
#define CODEC_WRITE_H

#include "codec_borrow.h"
#include "base_mem.h"
#include "base_python.h"

// px_json_borrow is px_json_dumps, except that it adds long strings to borrowed, unless that is NULL; keys are copied.
// The caller releases them with px_json_release, after an error too.
int px_json_borrow(struct px_buf *out, struct px_borrowed *borrowed, PyObject *o, PyObject *fallback);

// px_json_dumps appends o to out as compact JSON: UTF-8, in which only the
// quote, the backslash and control characters are escaped.
//
// None, bool, int, float, str, list, tuple and dict are written, and
// subclasses as their base (a dict subclass by its items()). Keys of a dict
// may be str, and int, float, bool or None, which become strings as in
// Python's json. Anything else, and each member of an Enum, is replaced by
// fallback(o). If fallback is NULL or returns NotImplemented, there is a
// TypeError that names the type; without fallback, Enum members that are also
// int, str and so on are written as those. fallback is borrowed. GIL.
//
// 0, or -1 with an exception set, and then out->len is what it was:
// ValueError (NaN, infinity, a lone surrogate, too deep or cyclic, too many
// digits), TypeError (no JSON for this type or key), MemoryError, or what
// fallback and items() raised, unchanged. The texts of the first two end with
// the place in o, such as `, at ["boxes"][3]`, unless that is o itself.
//
// A tuple from fallback, (owner, address, size, shape, code), is an array: it is written in binary, as ipc/PROTOCOL.md
// draws it. So is NaN or infinity, if fallback has an attribute any_number.
//
// Python code runs only in fallback and items(). Changes that it or another
// thread makes meanwhile to a dict that is being written have no effect; of a
// list, each element is read when it is written.
static inline int px_json_dumps(struct px_buf *out, PyObject *o, PyObject *fallback) {
  return px_json_borrow(out, NULL, o, fallback);
}

// px_json_release drops all references. GIL; it may run Python code. An exception that is set stays set.
void px_json_release(struct px_borrowed *borrowed);

#endif
