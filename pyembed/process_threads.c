// Threads that predictions start, and what those write.
//
// A thread belongs to the prediction that starts it, also by another such thread. Work in a pool belongs to the
// prediction that submits it: Python says so. After that prediction the thread is leftover, and what it writes to a log
// pipe is unattributed.
//
// So three of glibc's functions are defined here again, as in process_spawn.c. That reaches every caller outside of glibc:
// Python, whichever file object is used, Rust, and C++ streams that are not synchronised with C's. glibc's own calls
// cannot be replaced, so C's stdio is in process_stdio.c.
#include "process_threads.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "process_crash.h"
#include "process_foreign.h"
#include "process_next.h"
#include "process_pipes.h"
#include "channel_worker.h"

#define PX_NO_PREDICTION UINT64_MAX  // owns the threads that leftover code starts
#define PX_WRITES_TIMEOUT 1000000000  // ns for a write to a log pipe, which the front reads all the time

static __thread uint64_t owner;  // the prediction that this thread belongs to, or 0
static _Atomic int writing;  // writes of the running prediction's threads to its log pipes

_Atomic uint64_t px_threads_of;

// owner_of_new returns the owner of a thread or task that this code starts.
static uint64_t owner_of_new(void) {
  if (owner != 0) return owner;
  if (px_w.nslots != 1 || atomic_load(&px_w.is_child) || syscall(SYS_gettid) != getpid()) return 0;
  uint64_t id = px_is_leftover() ? PX_NO_PREDICTION : px_get(&px_w.slots[0]->current);
  if (id == 0 || id == atomic_load(&px_threads_of)) return id;
  px_pipes_unattributed();
  if (id != PX_NO_PREDICTION) atomic_store(&px_threads_of, id);
  return id;
}

void px_threads_leave(void) {
  atomic_store(&px_threads_of, 0);
  uint64_t until = px_now() + PX_WRITES_TIMEOUT;
  while (atomic_load(&writing) > 0 && px_now() < until) sched_yield();
}

bool px_thread_has_owner(void) { return owner != 0; }

void px_threads_begin_write(struct px_write *w, int fd) {
  int error = errno;
  w->fd = fd;
  w->stream = atomic_load(&px_w.is_child) ? -1 : px_pipes_stream(fd);
  errno = error;
  if (w->stream < 0) return;
  atomic_fetch_add(&writing, 1);
  w->counted = owner == atomic_load(&px_threads_of);
  if (w->counted) return;
  atomic_fetch_sub(&writing, 1);
  if (px_w.unattributed[w->stream] > 0) w->fd = px_w.unattributed[w->stream];
}

void px_threads_end_write(const struct px_write *w) {
  if (w->counted) atomic_fetch_sub(&writing, 1);
}

// write_log does the write of a thread that has an owner; false: fd is no log pipe. It may run in a signal
// handler. The system call is made directly, since a thread that is canceled in it would stay counted.
static bool write_log(int fd, const struct iovec *parts, int n, ssize_t *written) {
  struct px_write w = {.counted = false};
  px_threads_begin_write(&w, fd);
  if (w.stream < 0) return false;
  *written = syscall(SYS_writev, w.fd, parts, n);
  px_threads_end_write(&w);
  return true;
}

static void *_Atomic next_write, *_Atomic next_writev, *_Atomic next_create;

void px_threads_init(void) {
  px_find_next(&next_write, "write");
  px_find_next(&next_writev, "writev");
}

PX_VISIBLE ssize_t write(int fd, const void *data, size_t size) {
  typedef ssize_t call(int, const void *, size_t);
  call *next;
  ssize_t written;
  if (owner != 0 && write_log(fd, &(struct iovec){(void *)data, size}, 1, &written)) return written;
  *(void **)&next = px_find_next(&next_write, "write");
  return next(fd, data, size);
}

PX_VISIBLE ssize_t writev(int fd, const struct iovec *parts, int n) {
  typedef ssize_t call(int, const struct iovec *, int);
  call *next;
  ssize_t written;
  if (owner != 0 && write_log(fd, parts, n, &written)) return written;
  *(void **)&next = px_find_next(&next_writev, "writev");
  return next(fd, parts, n);
}

struct start {
  void *(*function)(void *);
  void *argument;
  uint64_t owner;
  const void *origin;
  struct px_channel *slot;  // that the thread belongs to, with prediction, if slots have threads
  uint64_t prediction;
};

static void *start_owned(void *p) {
  struct start s = *(struct start *)p;
  free(p);
  owner = s.owner;
  px_foreign_note(s.origin);
  px_crash_own(s.slot, s.prediction);
  return s.function(s.argument);
}

PX_VISIBLE int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attr,
                              void *(*function)(void *), void *restrict argument) {
  typedef int call(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  call *next;
  *(void **)&next = px_find_next(&next_create, "pthread_create");
  struct px_channel *slot;
  uint64_t id = owner_of_new(), prediction = px_crash_owner(&slot);
  const void *origin = px_foreign_origin(function, argument);
  if (id == 0 && prediction == 0 && !origin) return next(thread, attr, function, argument);
  struct start *s = malloc(sizeof *s);
  if (!s) return EAGAIN;
  *s = (struct start){function, argument, id, origin, slot, prediction};
  int status = next(thread, attr, start_owned, s);
  if (status != 0) free(s);
  return status;
}

// thread_owner() -> int: the value for set_thread_owner in a thread that works for this code.
static PyObject *thread_owner(PX_SELF, PX_NO_ARGS) { return PyLong_FromUnsignedLongLong(owner_of_new()); }

// set_thread_owner(owner) -> int: sets the owner of this thread; returns the previous one.
static PyObject *set_thread_owner(PX_SELF, PyObject *number) {
  uint64_t before = owner, now = PyLong_AsUnsignedLongLong(number);
  if (PyErr_Occurred()) return NULL;
  owner = now;
  return PyLong_FromUnsignedLongLong(before);
}

PyMethodDef px_thread_methods[] = {
    {"thread_owner", thread_owner, METH_NOARGS, NULL},
    {"set_thread_owner", set_thread_owner, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
