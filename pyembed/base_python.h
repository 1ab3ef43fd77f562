// The C API of the Python that this worker was given, under its natural names.
// px_py is set once, by px_python_use, before any C code of this package runs.
#ifndef BASE_PYTHON_H
#define BASE_PYTHON_H

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

// px_python_use sets px_py to the table of cpy3's Library.Table. Before the
// interpreter starts, on the thread that starts it. 0, or -1 if the table was
// built from another cpy3.h than this package.
int px_python_use(const struct cpy3_api *api);

// The GIL guards this package's data; in a free-threaded build a mutex does, which px_guard locks and px_unguard
// unlocks. Code between them is short. It may take references, but must not drop an object's last one: that may run
// Python code, and wait for other threads.
extern pthread_mutex_t px_guard_mu;

static inline void px_guard(void) {
  if (px_py->free_threaded) pthread_mutex_lock(&px_guard_mu);
}

static inline void px_unguard(void) {
  if (px_py->free_threaded) pthread_mutex_unlock(&px_guard_mu);
}

// px_lend is PyDict_GetItemWithError for a dict that other threads may change. The caller gives the item back with
// px_return: in a free-threaded build it is a new reference. GIL held. NULL: no such key, or an exception is set.
static inline PyObject *px_lend(PyObject *dict, PyObject *key) {
  if (!px_py->free_threaded) return PyDict_GetItemWithError(dict, key);
  PyObject *item;
  PyDict_GetItemRef(dict, key, &item);
  return item;
}

static inline void px_return(PyObject *o) {
  if (px_py->free_threaded) Py_DecRef(o);
}

// px_append adds o to a list, and takes the reference to o, also on failure. If o or list is NULL, an exception must be
// set. GIL held. 0, or -1 with an exception.
int px_append(PyObject *list, PyObject *o);

// px_raised takes the exception that is set, normalised. GIL held. New reference, or NULL if none is set.
PyObject *px_raised(void);

// px_getattr returns an attribute of o. GIL held; it may run Python code. New reference, or NULL with an exception.
// It interns the name: PyObject_GetAttrString makes a new str each time, and CPython's cache of type attributes, whose
// key is the address, keeps them all.
PyObject *px_getattr(PyObject *o, const char *name);

#endif
