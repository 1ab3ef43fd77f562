// serving_preload.c has the preload process, which forks workers.
#ifndef SERVING_PRELOAD_H
#define SERVING_PRELOAD_H

#include "base_python.h"

struct px_config;

// px_preload_init makes this a preload process. It has the control channel only, and none of our threads. Before Python
// starts. 0, or -1 without memory.
int px_preload_init(const struct px_config *config);

// The functions of the preload process.
extern PyMethodDef px_preload_methods[];

#endif
