// process_threads.c knows which prediction each thread belongs to.
#ifndef PROCESS_THREADS_H
#define PROCESS_THREADS_H

#include <stdbool.h>
#include <stdint.h>

#include "base_python.h"

// px_threads_of is the running prediction if it has started threads, else 0.
extern _Atomic uint64_t px_threads_of;

// px_threads_init finds glibc's functions, because a write in a signal handler must not do that. Before there are other
// threads.
void px_threads_init(void);

// px_threads_leave makes the running prediction's threads leftover, and waits until the writes that they are in have
// ended, for a second at most. Main thread.
void px_threads_leave(void);

// px_thread_has_owner reports whether this thread belongs to a prediction, running or not. Any thread.
bool px_thread_has_owner(void);

// A write of a thread that has an owner.
struct px_write {
  int fd;        // the descriptor to write to
  int stream;    // 0: stdout, 1: stderr; -1: fd was no log pipe
  bool counted;  // the end of its prediction waits for this write
};

// px_threads_begin_write begins a write to fd, and px_threads_end_write ends it. Both may run in a signal handler.
void px_threads_begin_write(struct px_write *w, int fd);
void px_threads_end_write(const struct px_write *w);

// The functions with which Python says whose a thread's work is.
extern PyMethodDef px_thread_methods[];

#endif
