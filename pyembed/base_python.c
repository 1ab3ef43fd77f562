#include "base_python.h"

const struct cpy3_api *px_py;
pthread_mutex_t px_guard_mu = PTHREAD_MUTEX_INITIALIZER;

int px_python_use(const struct cpy3_api *api) {
  if (!api || api->size != sizeof *api) return -1;
  px_py = api;
  return 0;
}

int px_append(PyObject *list, PyObject *o) {
  int status = list && o ? PyList_Append(list, o) : -1;
  Py_XDECREF(o);
  return status;
}

PyObject *px_getattr(PyObject *o, const char *name) {
  PyObject *key = PyUnicode_InternFromString(name);
  PyObject *value = key ? PyObject_GetAttr(o, key) : NULL;
  Py_DecRef(key);
  return value;
}

PyObject *px_raised(void) {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  if (!type) return NULL;
  PyErr_NormalizeException(&type, &value, &trace);
  if (trace && value) PyException_SetTraceback(value, trace);
  Py_DecRef(type);
  if (trace) Py_DecRef(trace);
  return value;
}
