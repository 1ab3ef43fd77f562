#include "channel_worker.h"

#include <errno.h>

struct px_worker px_w = {.mu = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

__thread struct px_channel *px_own_slot;

int px_create_thread(pthread_t *thread, void *(*run)(void *)) {
  int error = pthread_create(thread, NULL, run, NULL);
  if (error != 0) errno = error;
  return error == 0 ? 0 : -1;
}
