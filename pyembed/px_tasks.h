// px_tasks.c has what an event loop needs to serve predictions.
#ifndef PX_TASKS_H
#define PX_TASKS_H

#include "px_channel.h"
#include "px_python.h"

extern PyMethodDef px_task_methods[];

// px_slot_of returns the channel of slot i, or NULL with an exception. GIL held.
struct px_channel *px_slot_of(int i);

// px_slot_arg is a converter of PyArg_ParseTuple: it sets *channel to that of a slot's number. GIL held. 1, or 0 with
// an exception.
int px_slot_arg(PyObject *number, void *channel);

#endif
