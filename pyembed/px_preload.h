// px_preload.c is the preload process, which forks workers.
#ifndef PX_PRELOAD_H
#define PX_PRELOAD_H

#include "px_python.h"

struct px_config;

// px_preload_init makes the process a preload process. Its control channel is its only tie to the front, and it runs
// none of our threads. 0 or -1.
int px_preload_init(const struct px_config *config);

// px_preload_thread_origin returns an address in the library whose thread is about to be created; NULL unless
// this is the preload process.
const void *px_preload_thread_origin(void *(*function)(void *), void *argument);

// px_preload_note_thread notes the origin of the calling thread, unless it is NULL.
void px_preload_note_thread(const void *origin);

// px_preload_find_threads notes, last before a fork that makes a worker, which threads the fork will lack.
void px_preload_find_threads(void);

// The functions of the preload process.
extern PyMethodDef px_preload_methods[];

#endif
