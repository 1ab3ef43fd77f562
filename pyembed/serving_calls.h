// serving_calls.c opens calls of other models.
#ifndef SERVING_CALLS_H
#define SERVING_CALLS_H

#include "base_python.h"

extern PyMethodDef px_call_methods[];

#endif
