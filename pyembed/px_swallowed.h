// px_swallowed.c tells whether code has swallowed the exception of a cancel.
#ifndef PX_SWALLOWED_H
#define PX_SWALLOWED_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "px_python.h"

// px_in_import tells whether the code of a frame runs for an import. Many libraries cannot be imported again after an
// import that failed. GIL held.
bool px_in_import(PyObject *frame);

// PX_SWALLOW_PAUSE is how long in ns an exception that Python code may have swallowed is not raised again, at least.
#define PX_SWALLOW_PAUSE 90000000

// px_was_swallowed tells whether an exception that was raised in a thread at a time is to be raised there again: C code
// has dropped it, or serve/swallowed.py says so. The thread runs the frame. The caller has one reference. GIL held.
bool px_was_swallowed(PyObject *raised, uint64_t at, PyObject *frame, pthread_t thread);

// px_attribute is PyObject_GetAttrString that returns NULL, without an exception, for NULL and None, and where there is
// none.
PyObject *px_attribute(PyObject *o, const char *name);

#endif
