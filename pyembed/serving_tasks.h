// serving_tasks.c has what an event loop needs to serve predictions.
#ifndef SERVING_TASKS_H
#define SERVING_TASKS_H

#include "base_python.h"

extern PyMethodDef px_task_methods[];

#endif
