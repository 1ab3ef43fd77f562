// serving_batchloop.c has the loop that serves batches.
#ifndef SERVING_BATCHLOOP_H
#define SERVING_BATCHLOOP_H

#include "base_python.h"

// px_serve_batches is _px.serve_batches(handler). Main thread, GIL held. New reference, or NULL with an exception.
PyObject *px_serve_batches(PyObject *self, PyObject *handler);

#endif
