// The channels of the slots, as code that holds the GIL needs them.
#include "channel_slots.h"

#include <errno.h>

#include "channel_receive.h"
#include "channel_worker.h"

int px_wait_slots(int n) {
  pthread_mutex_lock(&px_w.mu);
  while (px_w.nslots < n && !px_w.stopping) pthread_cond_wait(&px_w.changed, &px_w.mu);
  int have = px_w.nslots;
  pthread_mutex_unlock(&px_w.mu);
  return have;
}

int px_share_socket(int n) {
  if (px_wait_slots(1) < 1) return -1;
  pthread_mutex_lock(&px_w.mu);
  struct px_channel *first = px_w.slots[0];
  first->loop = pthread_self();
  while (px_w.nslots < n) {
    struct px_channel *ch = px_malloc(sizeof *ch);
    if (!ch) break;
    px_channel_share(ch, first, &px_w.page->slots[px_w.nslots]);
    px_w.slots[px_w.nslots++] = ch;
  }
  int fd = px_w.nslots == n ? first->fd : -2;
  pthread_mutex_unlock(&px_w.mu);
  return fd;
}

struct px_channel *px_slot_of(int i) {
  pthread_mutex_lock(&px_w.mu);
  struct px_channel *ch = i >= 0 && i < px_w.nslots ? px_w.slots[i] : NULL;
  pthread_mutex_unlock(&px_w.mu);
  if (!ch) PyErr_Format(PyExc_IndexError, "no slot %d", i);
  return ch;
}

int px_slot_arg(PyObject *number, void *channel) {
  long i = PyLong_AsLong(number);
  if (i == -1 && PyErr_Occurred()) return 0;
  return (*(struct px_channel **)channel = px_slot_of((int)i)) != NULL;
}

int px_fill(struct px_channel *ch, bool wait) {
  for (;;) {
    PyThreadState *state = wait ? PyEval_SaveThread() : NULL;
    int n = px_channel_fill(ch, wait), saved = errno;
    if (state) PyEval_RestoreThread(state);
    errno = saved;
    if (n >= 0 || errno != EINTR) return n;
    if (wait && PyErr_CheckSignals() < 0) PyErr_WriteUnraisable(Py_None);  // the model's own handler raised
  }
}
