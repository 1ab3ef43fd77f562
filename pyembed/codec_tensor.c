// Tensors in binary, as ipc/PROTOCOL.md draws them: the elements go into a bytearray, or stay in a memory file; that
// becomes an array's memory. A number becomes a float.
#include "codec_tensor.h"

#include "codec_views.h"

#define MOST_DIMENSIONS 64  // numpy's
#define ELSEWHERE 0x80  // added to the number of dimensions if the elements lie in a file

// take64 reads a 64-bit word at *p. false where it is cut off.
static bool take64(const char **p, const char *end, uint64_t *v) {
  if ((size_t)(end - *p) < sizeof *v) return false;
  memcpy(v, *p, sizeof *v);
  *p += sizeof *v;
  return true;
}

// read_shape reads so many lengths. NULL with a Python error, or without one where they are cut off.
static PyObject *read_shape(const char **p, const char *end, int dimensions) {
  PyObject *shape = PyTuple_New(dimensions);
  for (int i = 0; shape && i < dimensions; i++) {
    uint64_t length = 0;
    PyObject *number = take64(p, end, &length) ? PyLong_FromUnsignedLongLong(length) : NULL;
    if (!number || PyTuple_SetItem(shape, i, number) < 0) Py_CLEAR(shape);
  }
  return shape;
}

PyObject *px_json_read_tensor(const char **p, const char *end, struct px_shared shared) {
  const char *at = *p;
  if (end - at < 3) return NULL;
  char code = at[1];
  int dimensions = (unsigned char)at[2] & ~ELSEWHERE;
  bool elsewhere = (unsigned char)at[2] & ELSEWHERE;
  at += 3;
  if (dimensions > MOST_DIMENSIONS) return NULL;
  PyObject *shape = read_shape(&at, end, dimensions), *result = NULL;
  uint64_t size, offset = 0;
  if (!shape || !take64(&at, end, &size)) goto done;
  if (elsewhere ? !take64(&at, end, &offset) || offset > shared.size || size > shared.size - offset
                : size > (uint64_t)(end - at))
    goto done;
  if (!elsewhere && dimensions == 0 && code == 'd' && size == sizeof(double)) {  // a number that JSON does not have
    double number;
    memcpy(&number, at, sizeof number);
    result = PyFloat_FromDouble(number);
    if (result) *p = at + size;
    goto done;
  }
  PyObject *data =
      elsewhere ? px_views_elements(shared, offset, size) : PyByteArray_FromStringAndSize(at, (Py_ssize_t)size);
  PyObject *name = data ? PyUnicode_FromStringAndSize(&code, 1) : NULL;
  if (name) result = PyTuple_Pack(3, data, shape, name);
  Py_XDECREF(name);
  Py_XDECREF(data);
  if (result) *p = elsewhere ? at : at + size;
done:
  Py_XDECREF(shape);
  return result;
}

static int no_memory(void) {
  PyErr_NoMemory();
  return -1;
}

int px_json_takes_any_number(PyObject *fallback) {
  PyObject *any = fallback ? px_getattr(fallback, "any_number") : NULL;
  if (any) {
    Py_DECREF(any);
    return 1;
  }
  if (!PyErr_Occurred()) return 0;
  if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return -1;
  PyErr_Clear();
  return 0;
}

int px_json_write_binary_number(struct px_buf *out, double v) {
  const char head[] = {PX_TENSOR_MARK, 'd', 0};
  uint64_t size = sizeof v;
  if (px_buf_put(out, head, sizeof head) < 0 || px_buf_put(out, &size, sizeof size) < 0 ||
      px_buf_put(out, &v, sizeof v) < 0)
    return no_memory();
  return 0;
}

// put_in_room returns where n bytes of an array are in the file: in an input without a copy, else copied to the room.
// 0: they do not fit.
static uint64_t put_in_room(struct px_json_room *room, const char *data, size_t n) {
  uint64_t from = (uint64_t)((uintptr_t)data - (uintptr_t)room->shared.at);
  if (from > 0 && px_views_cover(room->shared.views, from, n)) return from;
  uint64_t at = room->at, end = room->shared.size;
  if (at > end || n > end - at) return 0;
  memcpy(room->shared.at + at, data, n);
  room->at = (at + n + 63) & ~(uint64_t)63;
  return at;
}

int px_json_write_tensor(struct px_buf *out, struct px_borrowed *borrowed, PyObject *tensor) {
  PyObject *owner, *shape;
  unsigned long long address, size;
  const char *code;
  if (!PyArg_ParseTuple(tensor, "OKKOs", &owner, &address, &size, &shape, &code)) return -1;
  Py_ssize_t dimensions = PyTuple_Size(shape);
  if (dimensions < 0) return -1;
  const char *data = (const char *)(uintptr_t)address;
  bool large = size >= PX_BORROW_MIN && borrowed;
  uint64_t elsewhere = large && borrowed->room ? put_in_room(borrowed->room, data, size) : 0;
  const char head[] = {PX_TENSOR_MARK, *code, (char)(dimensions | (elsewhere ? ELSEWHERE : 0))};
  if (px_buf_put(out, head, sizeof head) < 0) return no_memory();
  for (Py_ssize_t i = 0; i < dimensions; i++) {
    uint64_t length = PyLong_AsUnsignedLongLong(PyTuple_GetItem(shape, i));
    if (PyErr_Occurred()) return -1;
    if (px_buf_put(out, &length, sizeof length) < 0) return no_memory();
  }
  uint64_t bytes = size;
  if (px_buf_put(out, &bytes, sizeof bytes) < 0) return no_memory();
  if (elsewhere) return px_buf_put(out, &elsewhere, sizeof elsewhere) < 0 ? no_memory() : 0;
  if (!large || borrowed->n == PX_BORROWED_MAX) return px_buf_put(out, data, size) < 0 ? no_memory() : 0;
  borrowed->list[borrowed->n++] = (struct px_borrowed_str){out->len, data, size, Py_NewRef(owner)};
  return 0;
}
