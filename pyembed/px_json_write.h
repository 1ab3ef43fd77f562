// px_json_write.c makes JSON of Python objects.
#ifndef PX_JSON_WRITE_H
#define PX_JSON_WRITE_H

#include <stddef.h>
#include <stdint.h>

#include "px_frame.h"
#include "px_mem.h"
#include "px_python.h"

// Loans: long strings without escapes that are not copied, but str by their str. The text is the buffer with each in
// its place. A copy of a long string costs as much as the socket's own.
#define PX_BORROW_MIN ((size_t)64 << 10)  // bytes of UTF-8; shorter strings are copied
#define PX_BORROWED_MAX 15                     // as are those that come after so many

// The elements of an array are borrowed in the same way.
struct px_borrowed_str {
  size_t at;  // it belongs in front of this byte of the buffer
  const char *data;
  size_t len;
  PyObject *owner;  // a reference that is held: the bytes stay, and stay what they are, as long as it is
};

// px_json_room is shared memory for the elements of large arrays. What is written there is neither copied nor borrowed.
struct px_json_room {
  struct px_shared shared;
  uint64_t at;       // from here on it is free
  PyObject *output;  // a reference to what is being written, which ends when it is
};

// In the order of the text. With n = 0 there are none. One owner at a time, as of the buffer.
struct px_borrowed {
  struct px_json_room *room;  // NULL: there is none
  int n;
  struct px_borrowed_str list[PX_BORROWED_MAX];
};

// px_json_borrow is px_json_dumps that adds the long strings to borrowed, except for keys; NULL: it is px_json_dumps.
// The caller gives back what was borrowed, after an error too: the buffer is then what it was, and they belong nowhere.
int px_json_borrow(struct px_buf *out, struct px_borrowed *borrowed, PyObject *o, PyObject *fallback);

// px_json_dumps appends o to out as compact JSON: UTF-8, in which only the
// quote, the backslash and control characters are escaped.
//
// None, bool, int, float, str, list, tuple and dict are written, and their
// subclasses as they are (a dict subclass by its items()). Keys of a dict may
// be str, and int, float, bool or None as strings, the way Python's json does
// it. Anything else, and each member of an Enum, is replaced by fallback(o)
// and that is written in its place. NotImplemented from fallback, or NULL for
// it (it is borrowed), makes a TypeError that names the type; without fallback
// Enum members that are also int, str and so on are written as those.
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
// Python code runs only in fallback and items(). What it, or another thread
// meanwhile, does to dicts that are being written does not show any more; of
// lists, what is there when an element's turn comes is written.
static inline int px_json_dumps(struct px_buf *out, PyObject *o, PyObject *fallback) {
  return px_json_borrow(out, NULL, o, fallback);
}

// px_json_release drops all references. It may run Python code; an exception that is set stays set.
void px_json_release(struct px_borrowed *borrowed);

#endif
