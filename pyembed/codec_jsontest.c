//go:build pinion_test

// The module _pxjson, by which tests reach the bridge from Python.
#include "codec_jsontest.h"

#include <time.h>

#include "codec_json.h"

static PyObject *loads(PX_SELF, PyObject *text) {
  char *s, *copy = NULL;
  Py_ssize_t n;
  PyObject *value = NULL;
  if (PyBytes_AsStringAndSize(text, &s, &n) < 0) return NULL;
  // A copy of the exact size: a sanitizer then sees each read past the end.
  copy = px_malloc((size_t)n);
  if (!copy) return PyErr_NoMemory();
  memcpy(copy, s, (size_t)n);
  value = px_json_loads(copy, (size_t)n);
  px_free(copy);
  return value;
}

// loads_arrays(text, code): as loads, but that the member "x" of the member "input" may become an array.
static PyObject *loads_arrays(PX_SELF, PyObject *args) {
  const char *s, *code;
  Py_ssize_t n;
  PyObject *value = NULL;
  if (!PyArg_ParseTuple(args, "y#s", &s, &n, &code)) return NULL;
  struct px_json_arrays arrays = {.within = PyUnicode_InternFromString("input"), .n = 1};
  arrays.list[0].name = PyUnicode_InternFromString("x");
  arrays.list[0].code = *code;
  char *copy = px_malloc((size_t)n);  // of the exact size, as above
  if (copy) {
    memcpy(copy, s, (size_t)n);
    value = px_json_loads_arrays(copy, (size_t)n, &arrays, (struct px_shared){NULL, 0, NULL});
    px_free(copy);
  }
  Py_DecRef(arrays.within);
  Py_DecRef(arrays.list[0].name);
  return copy ? value : PyErr_NoMemory();
}

// dumps(o, fallback=None, before=b"") gives before and the JSON; an error must leave the buffer at before.
static PyObject *dumps(PX_SELF, PyObject *args) {
  PyObject *o, *fallback = NULL, *result = NULL;
  const char *before = "";
  Py_ssize_t n = 0;
  struct px_buf out = {0};

  if (!PyArg_ParseTuple(args, "O|Oy#", &o, &fallback, &before, &n)) return NULL;
  if (fallback == Py_None) fallback = NULL;
  if (px_buf_put(&out, before, (size_t)n) < 0) return PyErr_NoMemory();
  if (px_json_dumps(&out, o, fallback) == 0)
    result = PyBytes_FromStringAndSize(out.data, (Py_ssize_t)out.len);
  else if (out.len != (size_t)n)
    PyErr_SetString(PyExc_SystemError, "px_json_dumps failed and left text behind");
  px_buf_free(&out);
  return result;
}

// borrow(o, fallback=None) gives the pieces of the JSON: the buffer's and, at each odd index, what was borrowed.
static PyObject *borrow(PX_SELF, PyObject *args) {
  PyObject *o, *fallback = NULL, *pieces = NULL;
  struct px_buf out = {0};
  struct px_borrowed borrowed = {0};

  if (!PyArg_ParseTuple(args, "O|O", &o, &fallback)) return NULL;
  int status = px_json_borrow(&out, &borrowed, o, fallback == Py_None ? NULL : fallback);
  if (status == 0) pieces = PyList_New(0);
  size_t at = 0;
  for (int i = 0; pieces && i <= borrowed.n; i++) {
    struct px_borrowed_str end = {.at = out.len}, *one = i < borrowed.n ? &borrowed.list[i] : &end;
    if (px_append(pieces, PyBytes_FromStringAndSize(out.data + at, (Py_ssize_t)(one->at - at))) < 0 ||
        (one->data && px_append(pieces, PyBytes_FromStringAndSize(one->data, (Py_ssize_t)one->len)) < 0))
      Py_CLEAR(pieces);
    at = one->at;
  }
  px_json_release(&borrowed);
  px_buf_free(&out);
  return pieces;
}

static PyObject *pin(PX_SELF, PyObject *key) {
  if (px_json_pin_key(key) < 0) return NULL;
  Py_RETURN_NONE;
}

static PyObject *clear(PX_SELF, PX_NO_ARGS) {
  px_json_clear();
  Py_RETURN_NONE;
}

static PyObject *live(PX_SELF, PX_NO_ARGS) { return PyLong_FromUnsignedLongLong(px_mem_live()); }

static PyObject *total(PX_SELF, PX_NO_ARGS) { return PyLong_FromUnsignedLongLong(px_mem_total()); }

// fail_at(n): the nth allocation of C memory from now on fails.
static PyObject *fail_at(PX_SELF, PyObject *n) {
  px_mem_fail_at(PyLong_AsUnsignedLong(n));
  Py_RETURN_NONE;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

// time_loads(text, n) and time_dumps(o, n) give nanoseconds for each of n calls.
static PyObject *time_loads(PX_SELF, PyObject *args) {
  const char *s;
  Py_ssize_t len, n;
  if (!PyArg_ParseTuple(args, "y#n", &s, &len, &n)) return NULL;
  double start = now();
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject *o = px_json_loads(s, (size_t)len);
    if (!o) return NULL;
    Py_DecRef(o);
  }
  return PyFloat_FromDouble((now() - start) / (double)n);
}

static PyObject *time_dumps(PX_SELF, PyObject *args) {
  PyObject *o, *result = NULL;
  Py_ssize_t n;
  struct px_buf out = {0};
  if (!PyArg_ParseTuple(args, "On", &o, &n)) return NULL;
  double start = now();
  for (Py_ssize_t i = 0; i < n; i++) {
    out.len = 0;
    if (px_json_dumps(&out, o, NULL) < 0) goto done;
  }
  result = PyFloat_FromDouble((now() - start) / (double)n);
done:
  px_buf_free(&out);
  return result;
}

static PyObject *make_module(void) {
  static PyMethodDef methods[] = {
      {"loads", loads, METH_O, NULL},
      {"loads_arrays", loads_arrays, METH_VARARGS, NULL},
      {"dumps", dumps, METH_VARARGS, NULL},
      {"borrow", borrow, METH_VARARGS, NULL},
      {"pin", pin, METH_O, NULL},
      {"clear", clear, METH_NOARGS, NULL},
      {"live", live, METH_NOARGS, NULL},
      {"total", total, METH_NOARGS, NULL},
      {"fail_at", fail_at, METH_O, NULL},
      {"time_loads", time_loads, METH_VARARGS, NULL},
      {"time_dumps", time_dumps, METH_VARARGS, NULL},
      {NULL, NULL, 0, NULL},
  };
  static PyModuleDef def = {PyModuleDef_HEAD_INIT, "_pxjson", NULL, -1, methods, NULL, NULL, NULL, NULL};
  return PyModule_Create(&def);
}

int px_jsontest_prepare(const void *table) {
  if (px_python_use(table) < 0) return -1;
  return PyImport_AppendInittab("_pxjson", make_module);
}

int px_jsontest_call(const char *function, const char *data, size_t n, struct px_buf *out) {
  int rc = -1;
  char *s;
  Py_ssize_t len;
  PyObject *main = PyImport_ImportModule("__main__");
  PyObject *result = main ? PyObject_CallMethod(main, function, "y#", data, (Py_ssize_t)n) : NULL;
  if (result && PyBytes_AsStringAndSize(result, &s, &len) == 0) rc = px_buf_put(out, s, (size_t)len);
  if (rc < 0) PyErr_Print();
  Py_DecRef(main);
  Py_DecRef(result);
  return rc;
}
