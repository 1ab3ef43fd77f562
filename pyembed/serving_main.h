// serving_main.c runs the worker process. Go calls px_main.
#ifndef SERVING_MAIN_H
#define SERVING_MAIN_H

#include "serving_config.h"

// px_main runs Python on the calling thread, which must be the process's
// first, and returns when the interpreter has ended: its exit status, or 1
// after a line on stderr if the worker could not be set up. Call it once.
int px_main(const struct px_config *config);

#endif
