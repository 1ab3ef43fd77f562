// px_calls.c opens calls of other models.
#ifndef PX_CALLS_H
#define PX_CALLS_H

#include "px_python.h"

extern PyMethodDef px_call_methods[];

#endif
