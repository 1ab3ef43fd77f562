// The C API of the Python that this worker was given, under its natural names.
// px_py is set once, by px_python_use, before any C code of this package runs.
#ifndef PX_PYTHON_H
#define PX_PYTHON_H

#include <pthread.h>
#include <stddef.h>

struct cpy3_api;
extern const struct cpy3_api *px_py;
#define CPY3 px_py
#include "cpy3.h"

// Parameters that a function for Python must have and does not use.
#define PX_SELF PyObject *self __attribute__((unused))
#define PX_NO_ARGS PyObject *args __attribute__((unused))

// PX_VISIBLE marks a function of glibc that is defined here again: Python and all libraries call this one.
#define PX_VISIBLE __attribute__((visibility("default")))

// px_python_use takes the table of cpy3's Library.Table. Before the
// interpreter starts, on the thread that starts it. 0, or -1 if the table
// was built from another cpy3.h than this package.
int px_python_use(const struct cpy3_api *api);

// What the GIL guards of this package's data, a mutex guards in a free-threaded build: between px_guard and px_unguard,
// other threads wait. What is between them is short, and may count references, but not end an object: that may run
// Python code, and wait for other threads.
extern pthread_mutex_t px_guard_mu;

static inline void px_guard(void) {
  if (px_py->free_threaded) pthread_mutex_lock(&px_guard_mu);
}

static inline void px_unguard(void) {
  if (px_py->free_threaded) pthread_mutex_unlock(&px_guard_mu);
}

// px_lend is PyDict_GetItemWithError, where other threads may change the dict. The caller ends the use of the reference
// with px_return: without a GIL it owns it.
static inline PyObject *px_lend(PyObject *dict, PyObject *key) {
  if (!px_py->free_threaded) return PyDict_GetItemWithError(dict, key);
  PyObject *item;
  PyDict_GetItemRef(dict, key, &item);
  return item;
}

static inline void px_return(PyObject *o) {
  if (px_py->free_threaded) Py_DecRef(o);
}

// px_append adds o to a list, and takes the reference. GIL held. 0, or -1 with an exception; a NULL argument means that
// one is set.
int px_append(PyObject *list, PyObject *o);

// px_getattr is the attribute of o. GIL held; it may run Python code. New reference, or NULL with an exception.
// PyObject_GetAttrString makes a new str each time, and CPython's cache of type attributes goes by address and keeps
// them all.
PyObject *px_getattr(PyObject *o, const char *name);

#endif
