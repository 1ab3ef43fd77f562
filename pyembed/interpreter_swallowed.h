// interpreter_swallowed.c tells whether code has swallowed the exception of a cancel.
#ifndef INTERPRETER_SWALLOWED_H
#define INTERPRETER_SWALLOWED_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base_python.h"

// px_in_import tells whether the code of a frame runs for an import. Many libraries cannot be imported again after an
// import that failed. GIL held.
bool px_in_import(PyObject *frame);

// PX_SWALLOW_PAUSE is the least time in ns before an exception that Python code may have swallowed is raised again.
#define PX_SWALLOW_PAUSE 90000000

// px_was_swallowed tells whether an exception is to be raised again, because C code has dropped it or
// serve/swallowed.py says so. It was raised at a time of px_now, in a thread that runs the frame now. The caller has
// one reference to it. GIL held.
bool px_was_swallowed(PyObject *raised, uint64_t at, PyObject *frame, pthread_t thread);

// px_attribute is PyObject_GetAttrString that never sets an exception: it returns NULL if o is NULL or None, or has no
// such attribute. It drops an exception that is set. GIL held. New reference.
PyObject *px_attribute(PyObject *o, const char *name);

#endif
