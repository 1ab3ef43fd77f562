// interpreter_waiter.c has the waiters on which calls of batched methods wait.
#ifndef INTERPRETER_WAITER_H
#define INTERPRETER_WAITER_H

#include "base_python.h"

// px_waiter_load makes the type of waiters. GIL held. 0, or -1 with an exception.
int px_waiter_load(void);

extern PyMethodDef px_waiter_methods[];

#endif
