// px_json_write.c makes JSON of Python objects.
#ifndef PX_JSON_WRITE_H
#define PX_JSON_WRITE_H

#include <stddef.h>
#include <stdint.h>

#include "px_frame.h"
#include "px_mem.h"
#include "px_python.h"

// Long strings without escapes are borrowed: not copied, but sent from the memory of their str, because a copy would
// cost as much as the socket's own. The text is the buffer, with each borrowed string in its place.
#define PX_BORROW_MIN ((size_t)64 << 10)  // bytes of UTF-8; shorter strings are copied
#define PX_BORROWED_MAX 15                 // later strings are copied

// The elements of an array are borrowed in the same way.
struct px_borrowed_str {
  size_t at;  // its place: in front of this byte of the buffer
  const char *data;
  size_t len;
  PyObject *owner;  // a reference, which keeps the bytes alive and unchanged
};

// px_json_room is shared memory for the elements of large arrays: the front reads them there.
struct px_json_room {
  struct px_shared shared;
  uint64_t at;       // from here on it is free
  PyObject *output;  // a reference to the output, until it is written
};

// The borrowed strings, in the order of the text. It has one owner at a time, as the buffer has.
struct px_borrowed {
  struct px_json_room *room;  // NULL: there is none
  int n;
  struct px_borrowed_str list[PX_BORROWED_MAX];
};

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
