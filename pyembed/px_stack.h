// px_stack.c says what a prediction does that does not end.
#ifndef PX_STACK_H
#define PX_STACK_H

#include <stdint.h>

#include "px_python.h"

// px_stack_ask answers the front with the stack of the thread that serves a slot, and then has Python look at tasks and
// other threads. The control thread; it does not wait.
void px_stack_ask(uint64_t id);

// px_stack_finish has Python do its part of that, if anything is left. handler is the server's handler of cancels, or
// NULL. Main, GIL held; without an exception on return.
void px_stack_finish(PyObject *handler);

extern PyMethodDef px_stack_methods[];

#endif
