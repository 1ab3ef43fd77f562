// interpreter_stack.c shows what a prediction that does not end is doing.
#ifndef INTERPRETER_STACK_H
#define INTERPRETER_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "base_python.h"

// px_stack_ask sends the front the stack of the thread that serves a slot, and then has Python look at tasks and other
// threads. The control thread, no GIL; it does not wait.
void px_stack_ask(uint64_t id);

// px_stack_finish has Python do its part of that, if it is due. handler is the server's handler of cancels, or NULL.
// Main thread, GIL held. It sets no exception.
void px_stack_finish(PyObject *handler);

// px_stack_use_signal says whether the handler of the cancel signal calls px_stack_finish. Any thread, no GIL.
void px_stack_use_signal(bool calls);

extern PyMethodDef px_stack_methods[];

#endif
