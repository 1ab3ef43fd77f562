// interpreter_waitmethods.c makes waits for locks and queues interruptible.
#ifndef INTERPRETER_WAITMETHODS_H
#define INTERPRETER_WAITMETHODS_H

#include "base_python.h"

extern PyMethodDef px_wait_methods[];

#endif
