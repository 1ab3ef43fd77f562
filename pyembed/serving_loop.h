// serving_loop.c has the loop that serves predictions.
#ifndef SERVING_LOOP_H
#define SERVING_LOOP_H

#include "base_python.h"

// px_serve is _px.serve(handler), on the main thread; px_serve_slot is _px.serve_slot(handler, slot), on a thread of
// its own. GIL held. New reference, or NULL with an exception.
PyObject *px_serve(PyObject *self, PyObject *handler);
PyObject *px_serve_slot(PyObject *self, PyObject *args);

#endif
