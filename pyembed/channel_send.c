// The sending half of a channel.
#define _GNU_SOURCE  // memfd_create
#include "channel_send.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "channel_flusher.h"
#include "channel_worker.h"

// px_channel_emit sends a frame at once if the last one left PX_EMIT_JOIN ago or earlier. After a pause it also sends
// the PX_EMIT_BURST first ones at once. Other frames wait for those that follow, for the rest of PX_EMIT_DELAY, after
// which the flusher sends them. PX_EMIT_JOIN is the smaller, so that a model that goes on emitting never wakes the
// flusher. All in ns.
#define PX_EMIT_JOIN 25000
#define PX_EMIT_DELAY 30000
#define PX_EMIT_BURST 32  // reached after as many PX_EMIT_DELAY without a frame
// On an event loop with several predictions in progress, px_channel_emit leaves frames to the end of the loop's turn, so
// that all that yield in one turn share a write. A longer turn sends every PX_TURN. If it sends nothing for PX_BLOCKED,
// the flusher does, and the next PX_LATE_FRAMES are sent as if there were no turns: the model blocks its loop.
#define PX_TURN 100000
#define PX_BLOCKED 5000000
#define PX_LATE_FRAMES 100
#define PX_EMIT_BACKLOG ((size_t)1 << 20)  // bytes; more than this is not queued

static void header(char h[PX_HEADER], size_t len, uint8_t kind, uint8_t flags, uint64_t id, uint64_t nanos) {
  uint32_t n = (uint32_t)len;
  memset(h, 0, PX_HEADER);
  memcpy(h, &n, sizeof n);
  h[4] = (char)kind;
  h[5] = (char)flags;
  memcpy(h + 8, &id, sizeof id);
  memcpy(h + 16, &nanos, sizeof nanos);
}

// size_of returns the size of n parts, in bytes.
static size_t size_of(const struct iovec *parts, int n) {
  size_t size = 0;
  for (int i = 0; i < n; i++) size += parts[i].iov_len;
  return size;
}

// is_shared reports whether the queued bytes are in the shared page.
static bool is_shared(struct px_channel *ch) { return ch->shared && ch->out.data == (char *)ch->shared->data; }

// note_empty records that the queue has been sent. A forked child, whose channels are broken, must not write the
// page.
static void note_empty(struct px_channel *ch) {
  ch->sent = 0;
  ch->emit_armed = ch->turn_open = false;
  if (!ch->shared) {
    px_buf_trim(&ch->out, PX_KEEP_OUT);
    return;
  }
  if (!is_shared(ch)) {
    px_buf_free(&ch->out);
    ch->out = (struct px_buf){(char *)ch->shared->data, 0, PX_OUT_MAX};
  }
  ch->out.len = 0;
  if (ch->broken) return;
  atomic_store_explicit(&ch->shared->len, 0, memory_order_release);
  atomic_store_explicit(&ch->shared->begin, ch->position, memory_order_release);
}

// advance removes the first k bytes, and empty parts, from n parts.
static struct iovec *advance(struct iovec *parts, int *n, size_t k) {
  for (; *n > 0 && k >= parts->iov_len; parts++, --*n) k -= parts->iov_len;
  if (*n > 0) *parts = (struct iovec){(char *)parts->iov_base + k, parts->iov_len - k};
  return parts;
}

// send_all sends n parts, and fd with the first byte. It blocks until the front has room, and changes the parts.
static bool send_all(struct px_channel *ch, struct iovec *parts, int n, int fd) {
  while (n > 0) {
    union {
      struct cmsghdr align;
      char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct msghdr m = {.msg_iov = parts, .msg_iovlen = (size_t)n};
    if (fd >= 0) {
      memset(&control, 0, sizeof control);
      m.msg_control = control.bytes;
      m.msg_controllen = sizeof control.bytes;
      struct cmsghdr *c = CMSG_FIRSTHDR(&m);
      c->cmsg_level = SOL_SOCKET;
      c->cmsg_type = SCM_RIGHTS;
      c->cmsg_len = CMSG_LEN(sizeof fd);
      memcpy(CMSG_DATA(c), &fd, sizeof fd);
    }
    ssize_t k = sendmsg(ch->fd, &m, MSG_NOSIGNAL);
    if (k < 0) {
      if (errno == EINTR) continue;
      return false;
    }
    fd = -1;
    parts = advance(parts, &n, (size_t)k);
    ch->position += (size_t)k;
  }
  return true;
}

// flush_locked sends what is queued. true: nothing is left, or the front has closed the channel.
static bool flush_locked(struct px_channel *ch, bool wait) {
  if (ch->out.len == 0) return true;
  while (ch->sent < ch->out.len && !ch->broken) {
    int flags = MSG_NOSIGNAL | (wait ? 0 : MSG_DONTWAIT);
    ssize_t k = sendto(ch->fd, ch->out.data + ch->sent, ch->out.len - ch->sent, flags, NULL,
                       0);  // interpreter_waits.c has send
    if (k >= 0) {
      ch->sent += (size_t)k;
      ch->position += (size_t)k;
    } else if (errno == EAGAIN) {
      return false;
    } else if (errno != EINTR) {
      ch->broken = true;  // the front has closed it; the next read finds out too
    }
  }
  note_empty(ch);
  return true;
}

// send_directly sends n parts, the first of which is a header, after the queued frames. It blocks until the front has
// room. The header is sent first, so that the front can make room for the body.
static void send_directly(struct px_channel *ch, struct iovec *parts, int n, int fd) {
  flush_locked(ch, true);
  if (!ch->broken && !(send_all(ch, parts, 1, fd) && send_all(ch, parts + 1, n - 1, -1))) ch->broken = true;
  note_empty(ch);  // for the position
}

// reserve makes room for n more bytes: in the shared page, if they fit there.
static int reserve(struct px_channel *ch, size_t n) {
  if (is_shared(ch) && ch->out.cap - ch->out.len < n) {
    flush_locked(ch, false);
    if (ch->out.cap - ch->out.len >= n) return 0;
    struct px_buf own = {0};
    if (px_buf_reserve(&own, ch->out.len + n) < 0) return -1;
    px_buf_put(&own, ch->out.data + ch->sent, ch->out.len - ch->sent);
    ch->sent = 0;
    ch->out = own;
    atomic_store_explicit(&ch->shared->len, 0, memory_order_release);
  }
  return px_buf_reserve(&ch->out, n);
}

// append queues one frame of n parts, the first of which is its header. now: by px_now, or 0 where the caller has not
// asked. 0, or -1 with errno.
static int append(struct px_channel *ch, const struct iovec *parts, int n, uint64_t now) {
  if (reserve(ch, size_of(parts, n)) < 0) {
    errno = ENOMEM;
    return -1;
  }
  if (ch->out.len == 0) ch->unsent_since = now ? now : px_now();
  for (int i = 0; i < n; i++) px_buf_put(&ch->out, parts[i].iov_base, parts[i].iov_len);
  if (is_shared(ch)) atomic_store_explicit(&ch->shared->len, ch->out.len, memory_order_release);
  return 0;
}

size_t px_channel_backlog(struct px_channel *ch) {
  ch = ch->wire;
  pthread_mutex_lock(&ch->mu);
  size_t n = ch->out.len - ch->sent;
  pthread_mutex_unlock(&ch->mu);
  return n;
}

bool px_channel_flush(struct px_channel *ch, bool wait) {
  ch = ch->wire;
  pthread_mutex_lock(&ch->mu);
  bool done = flush_locked(ch, wait);
  pthread_mutex_unlock(&ch->mu);
  return done;
}

void px_flush_with_gil(struct px_channel *ch) {
  if (px_channel_flush(ch, false)) return;
  PyThreadState *state = PyEval_SaveThread();
  px_channel_flush(ch, true);
  PyEval_RestoreThread(state);
}

// put_file sends a body of n parts as a memory file, with one copy. It changes the parts.
static int put_file(struct px_channel *ch, uint8_t kind, uint8_t flags, uint64_t id, uint64_t nanos, struct iovec *body,
                    int n) {
  char h[PX_HEADER];
  ch = ch->wire;
  int status = -1;
  int fd = memfd_create("pinion-body", MFD_CLOEXEC);
  if (fd < 0) return -1;
  while (n > 0) {
    ssize_t k = writev(fd, body, n);
    if (k < 0 && errno == EINTR) continue;
    if (k < 0) goto out;
    body = advance(body, &n, (size_t)k);
  }
  header(h, 0, kind, PX_FLAG_FILE | flags, id, nanos);
  pthread_mutex_lock(&ch->mu);
  send_directly(ch, &(struct iovec){h, PX_HEADER}, 1, fd);
  pthread_mutex_unlock(&ch->mu);
  status = 0;
out:;
  int saved = errno;
  close(fd);
  errno = saved;
  return status;
}

int px_channel_put(struct px_channel *ch, uint8_t kind, uint64_t id, uint64_t nanos, const char *body, size_t len) {
  struct iovec parts[] = {{NULL, 0}, {(char *)body, len}};
  return px_channel_put_parts(ch, kind, 0, id, nanos, parts, 2);
}

int px_channel_put_parts(struct px_channel *ch, uint8_t kind, uint8_t flags, uint64_t id, uint64_t nanos,
                         struct iovec *parts, int n) {
  size_t len = size_of(parts + 1, n - 1);
  if (len > PX_INLINE_MAX) return put_file(ch, kind, flags, id, nanos, parts + 1, n - 1);
  int status = 0;
  char h[PX_HEADER];
  ch = ch->wire;
  header(h, len, kind, flags, id, nanos);
  parts[0] = (struct iovec){h, PX_HEADER};
  pthread_mutex_lock(&ch->mu);
  if (ch->broken) {
    // The front has closed the channel; nothing is queued.
  } else if (len > PX_COPY_MAX) {
    send_directly(ch, parts, n, -1);
  } else {
    status = append(ch, parts, n, 0);
    if (ch->out.len > PX_KEEP_OUT) flush_locked(ch, false);
  }
  pthread_mutex_unlock(&ch->mu);
  return status;
}

void px_channel_put_fd(struct px_channel *ch, uint8_t kind, uint64_t id, uint64_t nanos, int fd) {
  char h[PX_HEADER];
  header(h, 0, kind, PX_FLAG_FILE, id, nanos);
  struct iovec part = {h, PX_HEADER};
  ch = ch->wire;
  pthread_mutex_lock(&ch->mu);
  send_directly(ch, &part, 1, fd);
  pthread_mutex_unlock(&ch->mu);
}

// several reports whether more than one prediction is in progress.
static bool several(void) {
  int n = 0;
  for (int i = 0; n < 2 && i < px_w.nslots; i++) n += px_get(&px_w.slots[i]->current) != 0;
  return n > 1;
}

// waits_for_turn reports whether the frames that are queued leave at the end of the loop's turn.
static bool waits_for_turn(struct px_channel *ch, uint64_t now) {
  if (!ch->turns || !pthread_equal(ch->loop, pthread_self()) || now - ch->unsent_since >= PX_TURN) return false;
  if (ch->late > 0) {
    ch->late--;
    return false;
  }
  return ch->out.len <= PX_KEEP_OUT && several();
}

int px_channel_emit(struct px_channel *ch, uint8_t kind, uint64_t id, const char *body, size_t len) {
  if (len > PX_COPY_MAX) return px_channel_put(ch, kind, id, 0, body, len);
  ch = ch->wire;
  int status = 0;
  char h[PX_HEADER];
  header(h, len, kind, 0, id, 0);
  struct iovec parts[] = {{h, PX_HEADER}, {(char *)body, len}};
  pthread_mutex_lock(&ch->mu);
  uint64_t now = px_now(), due = 0;
  if (ch->broken) {
    // The front has closed the channel; nothing is queued.
  } else if (append(ch, parts, 2, now) < 0) {
    status = -1;
  } else if (waits_for_turn(ch, now)) {
    if (!ch->turn_armed) due = now + PX_BLOCKED;
    status = ch->turn_open ? 0 : 2;
    ch->turn_armed = ch->turn_open = true;
  } else {
    uint64_t pause = now - ch->emitted_at;
    bool at_once = pause >= PX_EMIT_JOIN || ch->bursts > 0 || ch->out.len > PX_KEEP_OUT;
    if (pause >= PX_EMIT_DELAY) {
      uint64_t bursts = ch->bursts + pause / PX_EMIT_DELAY;
      ch->bursts = bursts < PX_EMIT_BURST ? (unsigned)bursts : PX_EMIT_BURST;
    } else if (pause < PX_EMIT_JOIN && ch->bursts > 0) {
      ch->bursts--;
    }
    if (at_once) ch->emitted_at = now;
    if (!(at_once && flush_locked(ch, false)) && !ch->emit_armed) {
      ch->emit_armed = true;
      due = ch->emitted_at + PX_EMIT_DELAY;
    }
    status = ch->out.len - ch->sent > PX_EMIT_BACKLOG;
  }
  pthread_mutex_unlock(&ch->mu);
  if (due) px_flusher_arm_between(ch, due, due + PX_LATE);
  return status;
}

void px_channel_end_turn(struct px_channel *ch) {
  if (!px_channel_flush(ch, false)) px_flusher_arm_for(ch);
}

bool px_channel_flush_due(struct px_channel *ch) {
  if (ch->wire != ch) return true;
  pthread_mutex_lock(&ch->mu);
  if (ch->emit_armed || ch->turn_armed) {
    uint64_t now = px_now();
    if (ch->emit_armed) ch->emitted_at = now;
    if (ch->turn_armed && ch->out.len > 0 && now - ch->unsent_since >= PX_BLOCKED / 2) ch->late = PX_LATE_FRAMES;
    ch->turn_armed = false;
  }
  bool done = flush_locked(ch, false);
  pthread_mutex_unlock(&ch->mu);
  return done;
}
