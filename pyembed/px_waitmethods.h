// px_waitmethods.c lets waits for locks and queues be interrupted.
#ifndef PX_WAITMETHODS_H
#define PX_WAITMETHODS_H

#include "px_python.h"

extern PyMethodDef px_wait_methods[];

#endif
