// What an answer borrows, and where its large arrays lie.
#ifndef CODEC_BORROW_H
#define CODEC_BORROW_H

#include <stddef.h>
#include <stdint.h>

#include "base_python.h"
#include "codec_shared.h"

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

#endif
