// px_waitmethods.c makes waits for locks and queues interruptible.
#ifndef PX_WAITMETHODS_H
#define PX_WAITMETHODS_H

#include "px_python.h"

extern PyMethodDef px_wait_methods[];

#endif
