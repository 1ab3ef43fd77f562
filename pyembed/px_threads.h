// px_threads.c tells to which prediction a thread belongs.
#ifndef PX_THREADS_H
#define PX_THREADS_H

#include <stdbool.h>
#include <stdint.h>

#include "px_python.h"

// px_threads_of is the running prediction, if it has started threads; else 0.
extern _Atomic uint64_t px_threads_of;

// px_threads_init finds glibc's functions. A write in a signal handler must not.
void px_threads_init(void);

// px_threads_leave makes the running prediction's threads leftover, and waits for the end of what they are writing.
void px_threads_leave(void);

// px_thread_has_owner reports whether this thread belongs to a prediction, running or not.
bool px_thread_has_owner(void);

// A write of a thread that has an owner.
struct px_write {
  int fd;        // where it goes
  int stream;    // 0 or 1: of which stream it is text; -1: fd was no log pipe
  bool counted;  // the end of its prediction waits for it
};

// px_threads_begin_write begins a write to fd, and px_threads_end_write ends it. Both may run in a signal handler.
void px_threads_begin_write(struct px_write *w, int fd);
void px_threads_end_write(const struct px_write *w);

// px_find_next returns glibc's function of that name, which is defined again here, and keeps it in *found.
void *px_find_next(void *_Atomic *found, const char *name);

// The functions with which Python says whose a thread's work is.
extern PyMethodDef px_thread_methods[];

#endif
