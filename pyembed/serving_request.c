// Decoding the body of a request into Python objects.
#include "serving_request.h"

#include "codec_json.h"
#include "channel_worker.h"

// The inputs of predictions that are read as arrays. Set once, before the first request.
static struct px_json_arrays arrays;

PyObject *px_request_read(const struct px_frame *f, struct px_shared shared) {
  bool predicts = f->kind == PX_PREDICT && !(f->flags & (PX_FLAG_TRAIN | PX_FLAG_FUNCTION));
  return px_json_loads_arrays(f->body, f->len, predicts ? &arrays : NULL, shared);
}

// add_arrays adds the inputs that a dict names. 0, or -1 with an exception.
static int add_arrays(PyObject *codes) {
  PyObject *items = PyDict_Items(codes);
  Py_ssize_t n = items ? PyList_Size(items) : -1;
  int status = n < 0 ? -1 : 0;
  for (Py_ssize_t i = 0; status == 0 && i < n && arrays.n < PX_JSON_ARRAYS; i++) {
    PyObject *item = PyList_GetItem(items, i), *name;
    const char *code;
    if (!PyArg_ParseTuple(item, "Us", &name, &code) || px_json_pin_key(name) < 0) {
      status = -1;
    } else {
      arrays.list[arrays.n].name = Py_NewRef(name);
      arrays.list[arrays.n++].code = *code;
    }
  }
  Py_XDECREF(items);
  return status;
}

// use_arrays(codes): the inputs of predictions that codes names are lists of numbers, to be given as (data, shape): see
// px_json_loads_arrays. Those beyond the first PX_JSON_ARRAYS stay lists.
static PyObject *use_arrays(PX_SELF, PyObject *codes) {
  if (!arrays.within && !(arrays.within = PyUnicode_InternFromString("input"))) return NULL;
  if (add_arrays(codes) < 0) return NULL;
  Py_RETURN_NONE;
}

PyMethodDef px_request_methods[] = {
    {"use_arrays", use_arrays, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
