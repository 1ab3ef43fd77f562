// The worker as its C files see it: one process, one interpreter, some slots.
//
// Threads: "main" is the process's first thread and Python's main thread; it runs everything that is not marked
// otherwise. "control" reads the control socket. "flusher" sends answers that main was too busy to send. Neither of
// these two ever touches Python, and both block every signal.
#ifndef CHANNEL_WORKER_H
#define CHANNEL_WORKER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "channel_socket.h"

struct px_worker {
  struct px_channel control;
  struct px_page *page;
  struct px_channel *slots[PX_MAX_SLOTS];
  _Atomic int nslots;  // changed with mu held
  bool stopping;  // guarded by mu: the worker is to stop
  uint64_t health;  // guarded by mu: the health check that was asked for last, or 0
  pthread_mutex_t mu;
  pthread_cond_t changed;  // nslots, stopping or health

  // The log pipes. log_mu guards what follows it, and the sending of marks, which keep the order of their positions.
  int log_fd[2];  // our own duplicates of the pipes' write ends
  PyTypeObject *stream_type;  // of Python's standard streams, which report writes; NULL: not made yet
  _Atomic bool wrote;  // Python's streams were written to since the last look
  _Atomic uint64_t looked;  // when px_log_look read the positions last, ns
  pthread_mutex_t log_mu;
  uint64_t log_seen[2];  // the positions last sent to the front
  _Atomic bool own;  // stdout and stderr are pipes of the prediction's own: see process_pipes.c
  int own_fd[2];  // our own duplicates of those, or -1
  uint64_t own_seen[2];  // as log_seen
  uint64_t own_ended;  // how many such pairs there were
  int unattributed[2];  // pipes for text that belongs to no running prediction, or 0
  _Atomic uint64_t log_watch;  // the prediction whose logs are marked as they come, or 0

  _Atomic bool is_child;  // this process was forked from the worker
  bool forking_worker;  // main: the fork in progress makes a worker, not a child of the model's
  bool forked;  // this worker was forked from the preload process

  const char *config;  // JSON of the front, for Python
  size_t (*cuda_report)(char *, size_t, int);
  PyObject *cancel_type;  // cog.CancelationException
  PyObject *raised;  // GIL: the exception that ends the running prediction, since a cancel; or NULL
  PyObject *scope;  // px_guard: of the prediction that px_serve runs, borrowed; NULL: none
  PyObject *on_turn;  // has an event loop call flush after this turn; NULL: its selector does
  PyObject *yielded;  // stands for an output whose items were emitted
};

extern struct px_worker px_w;

// px_own_slot is the slot that this thread serves, or NULL: main, and threads of the model.
extern __thread struct px_channel *px_own_slot;

// px_create_thread starts a thread. 0, or -1 with errno.
int px_create_thread(pthread_t *thread, void *(*run)(void *));

// px_now is the monotonic clock in nanoseconds. Any thread.
static inline uint64_t px_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

#endif
