// Arrays of numbers, without an object for each.
#include "codec_array.h"

#include <float.h>
#include <limits.h>
#include <math.h>

#include "codec_number_in.h"

#define MOST_DIMENSIONS 32  // numpy's before 2.0

struct array {
  const char *p, *end;
  struct px_buf *scratch;
  char code;
  size_t size;      // of a number in bytes
  PyObject *bytes;  // a bytearray
  char *data;       // its memory
  size_t used, room;
  int dimensions;  // 0: not known yet
  Py_ssize_t shape[MOST_DIMENSIONS];  // -1: not known yet
};

static size_t size_of(char code) {
  switch (code) {
    case 'b':
    case 'B':
      return 1;
    case 'h':
    case 'H':
      return 2;
    case 'i':
    case 'I':
    case 'f':
      return 4;
    default:
      return 8;
  }
}

static void skip_space(struct array *a) {
  while (a->p < a->end && (*a->p == ' ' || *a->p == '\n' || *a->p == '\r' || *a->p == '\t')) a->p++;
}

// grow makes room for more numbers. false with a Python error.
static bool grow(struct array *a) {
  size_t room = a->room ? 2 * a->room : 4096;
  if (!a->bytes)
    a->bytes = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)room);
  else if (PyByteArray_Resize(a->bytes, (Py_ssize_t)room) < 0)
    return false;
  if (!a->bytes) return false;
  a->data = PyByteArray_AsString(a->bytes);
  a->room = room;
  return true;
}

static bool put_float(struct array *a, const struct px_json_number *v) {
  double d = v->kind == PX_JSON_INT ? (double)v->i : v->d;
  if (a->code == 'd') {
    if (isinf(d)) return false;
    memcpy(a->data + a->used, &d, sizeof d);
    return true;
  }
  float f = (float)d;
  if (f > FLT_MAX || f < -FLT_MAX) return false;
  memcpy(a->data + a->used, &f, sizeof f);
  return true;
}

static bool put_whole(struct array *a, int64_t i) {
  static const struct {
    char code;
    int64_t least, most;
  } ranges[] = {{'b', INT8_MIN, INT8_MAX},   {'B', 0, UINT8_MAX},  {'h', INT16_MIN, INT16_MAX}, {'H', 0, UINT16_MAX},
                {'i', INT32_MIN, INT32_MAX}, {'I', 0, UINT32_MAX}, {'q', INT64_MIN, INT64_MAX}};
  for (size_t k = 0; k < sizeof ranges / sizeof *ranges; k++) {
    if (ranges[k].code != a->code) continue;
    if (i < ranges[k].least || i > ranges[k].most) return false;
    uint64_t bits = (uint64_t)i;
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
    bits <<= 64 - 8 * a->size;
#endif
    memcpy(a->data + a->used, &bits, a->size);
    return true;
  }
  return false;
}

// put adds the number at p. false where it does not fit.
static bool put(struct array *a) {
  const char *start = a->p;
  struct px_json_number v;
  if (a->p == a->end || (*a->p != '-' && (*a->p < '0' || *a->p > '9'))) return false;
  if (px_json_take_number(&a->p, a->end, &v) < 0 || v.kind == PX_JSON_LONG_INT) return false;
  if (v.kind == PX_JSON_LONG_FLOAT && px_json_convert(start, a->p, a->scratch, &v.d) < 0) return false;
  if (a->used + a->size > a->room && !grow(a)) return false;
  bool is_float = a->code == 'f' || a->code == 'd';
  if (!(is_float ? put_float(a, &v) : v.kind == PX_JSON_INT && put_whole(a, v.i))) return false;
  a->used += a->size;
  return true;
}

// read_level reads the list at p, which is so many lists deep.
static bool read_level(struct array *a, int level) {
  Py_ssize_t count = 0;
  a->p++;
  skip_space(a);
  bool empty = a->p < a->end && *a->p == ']', lists = a->p < a->end && *a->p == '[';
  if (lists ? level + 1 == MOST_DIMENSIONS || level + 1 == a->dimensions : !empty && a->dimensions > level + 1)
    return false;
  if (!lists && a->dimensions == 0) a->dimensions = level + 1;
  while (!empty) {
    if (lists ? a->p == a->end || *a->p != '[' || !read_level(a, level + 1) : !put(a)) return false;
    count++;
    skip_space(a);
    if (a->p == a->end) return false;
    if (*a->p == ']') break;
    if (*a->p++ != ',') return false;
    skip_space(a);
  }
  a->p++;
  if (a->shape[level] < 0) a->shape[level] = count;
  return a->shape[level] == count;
}

// finish makes the result of an array that was read.
static PyObject *finish(struct array *a) {
  if (!a->bytes && !grow(a)) return NULL;
  PyObject *shape = PyTuple_New(a->dimensions);
  for (int i = 0; shape && i < a->dimensions; i++) {
    PyObject *length = PyLong_FromSsize_t(a->shape[i]);
    if (!length || PyTuple_SetItem(shape, i, length) < 0) Py_CLEAR(shape);
  }
  PyObject *result = NULL;
  if (shape && PyByteArray_Resize(a->bytes, (Py_ssize_t)a->used) == 0) result = PyTuple_Pack(2, a->bytes, shape);
  Py_XDECREF(shape);
  return result;
}

PyObject *px_json_read_array(const char **p, const char *end, struct px_buf *scratch, char code) {
  struct array a = {.p = *p, .end = end, .scratch = scratch, .code = code, .size = size_of(code)};
  for (int i = 0; i < MOST_DIMENSIONS; i++) a.shape[i] = -1;
  PyObject *result = read_level(&a, 0) ? finish(&a) : NULL;
  Py_XDECREF(a.bytes);
  if (result) *p = a.p;
  return result;
}
