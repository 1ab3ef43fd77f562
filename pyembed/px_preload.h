// px_preload.c has the preload process, which forks workers.
#ifndef PX_PRELOAD_H
#define PX_PRELOAD_H

#include "px_python.h"

struct px_config;

// px_preload_init makes this a preload process. It has the control channel only, and none of our threads. Before Python
// starts. 0, or -1 without memory.
int px_preload_init(const struct px_config *config);

// px_preload_thread_origin returns an address in the library whose thread is about to be created, or NULL if this is
// not the preload process. Any thread.
const void *px_preload_thread_origin(void *(*function)(void *), void *argument);

// px_preload_note_thread remembers the origin of the calling thread, unless it is NULL. Any thread.
void px_preload_note_thread(const void *origin);

// px_preload_find_threads lists the threads that a fork will lack. It is called just before a fork that makes a worker.
void px_preload_find_threads(void);

// The functions of the preload process.
extern PyMethodDef px_preload_methods[];

#endif
