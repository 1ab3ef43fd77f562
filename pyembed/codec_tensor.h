// codec_tensor.c reads and writes tensors in binary, as ipc/PROTOCOL.md draws them.
#ifndef CODEC_TENSOR_H
#define CODEC_TENSOR_H

#include "codec_borrow.h"
#include "base_mem.h"

// A tensor begins with this byte, with which no JSON value begins.
#define PX_TENSOR_MARK 1

// px_json_read_tensor reads the tensor at *p and moves *p behind it: (data, shape, code), a buffer, a tuple and a str.
// GIL. Its elements may lie in shared. New reference; NULL with a Python error, or without one if it is cut off.
PyObject *px_json_read_tensor(const char **p, const char *end, struct px_shared shared);

// px_json_write_tensor appends an array: (owner, address, size, shape, code). The elements are at the address as long
// as the owner lives; they are borrowed if borrowed is not NULL and has room. GIL. 0, or -1 with a Python error.
int px_json_write_tensor(struct px_buf *out, struct px_borrowed *borrowed, PyObject *tensor);

// px_json_takes_any_number tells whether the reader of the text takes NaN and infinity, which JSON does not have: 1, 0,
// or -1 with a Python error. fallback may be NULL. GIL; may run Python code.
int px_json_takes_any_number(PyObject *fallback);

// px_json_write_binary_number appends NaN or infinity in binary. GIL. 0, or -1 with MemoryError.
int px_json_write_binary_number(struct px_buf *out, double v);

#endif
