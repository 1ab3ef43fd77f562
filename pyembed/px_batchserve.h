// px_batchserve.c has the loop that serves batches.
#ifndef PX_BATCHSERVE_H
#define PX_BATCHSERVE_H

#include "px_python.h"

// px_serve_batches is _px.serve_batches(handler). Main thread, GIL held. New reference, or NULL with an exception.
PyObject *px_serve_batches(PyObject *self, PyObject *handler);

#endif
