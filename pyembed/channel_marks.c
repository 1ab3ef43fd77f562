// Which bytes of the log pipes belong to which prediction.
//
// The front reads the pipes all the time, so their content does not show what a prediction wrote. The number of bytes
// ever written does: it is what the front took (a counter in the shared page) plus what still lies in the pipe
// (FIONREAD). The front brackets each read with a version that is odd meanwhile; two values read under one even version
// are exact.
#include "channel_marks.h"

#include <sched.h>
#include <stdio.h>
#include <sys/ioctl.h>

#include "channel_send.h"
#include "channel_worker.h"

// position is how much was ever written into a pipe, of which c counts what the front took.
static uint64_t position(struct px_consumed *c, int fd) {
  for (;;) {
    uint64_t before = atomic_load(&c->version);
    uint64_t taken = atomic_load(&c->bytes);
    int left = 0;
    if (before % 2 == 0) {
      if (ioctl(fd, FIONREAD, &left) < 0) return taken;
      if (atomic_load(&c->version) == before) return taken + (uint64_t)left;
    }
    sched_yield();  // the front is in a read, which does not block
  }
}

void px_log_positions(uint64_t at[2]) {
  for (int i = 0; i < 2; i++) at[i] = position(&px_w.page->logs[i], px_w.log_fd[i]);
}

int px_log_mark_locked(struct px_channel *ch, uint64_t id) {
  bool has_own = atomic_load_explicit(&px_w.own, memory_order_relaxed), moved = false;
  uint64_t at[2], own[2] = {0, 0};
  px_log_positions(at);
  for (int i = 0; i < 2; i++) {
    if (has_own && px_w.own_fd[i] >= 0) own[i] = position(&px_w.page->own[i], px_w.own_fd[i]);
    moved |= at[i] != px_w.log_seen[i] || (has_own && own[i] != px_w.own_seen[i]);
  }
  if (!moved) return 0;
  memcpy(px_w.log_seen, at, sizeof at);
  if (has_own) memcpy(px_w.own_seen, own, sizeof own);
  char body[160], text[80] = "";
  if (has_own)
    snprintf(text, sizeof text, ",\"own_stdout\":%llu,\"own_stderr\":%llu", (unsigned long long)own[0],
             (unsigned long long)own[1]);
  int n = snprintf(body, sizeof body, "{\"stdout\":%llu,\"stderr\":%llu%s}", (unsigned long long)at[0],
                   (unsigned long long)at[1], text);
  return px_channel_put(ch, PX_LOG_MARK, id, 0, body, (size_t)n);
}

int px_log_mark(struct px_channel *ch, uint64_t id) {
  pthread_mutex_lock(&px_w.log_mu);
  int status = px_log_mark_locked(ch, id);
  pthread_mutex_unlock(&px_w.log_mu);
  return status;
}

int px_log_record(struct px_channel *ch, uint64_t id, int stream, size_t size, const char *about) {
  pthread_mutex_lock(&px_w.log_mu);
  bool own = atomic_load_explicit(&px_w.own, memory_order_relaxed) && px_w.own_fd[stream] >= 0;
  uint64_t from = own ? position(&px_w.page->own[stream], px_w.own_fd[stream])
                      : position(&px_w.page->logs[stream], px_w.log_fd[stream]);
  char body[PX_RECORD_MAX + 120];
  int n = snprintf(body, sizeof body, "{\"pipe\":%d,\"from\":%llu,\"to\":%llu,%.*s}", stream + (own ? 2 : 0),
                   (unsigned long long)from, (unsigned long long)(from + size), PX_RECORD_MAX, about);
  int status = px_channel_put(ch, PX_LOG_RECORD, id, 0, body, (size_t)n);
  pthread_mutex_unlock(&px_w.log_mu);
  return status;
}
