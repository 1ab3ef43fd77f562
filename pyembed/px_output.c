// The sending half of a channel, and the thread that sends what was left.
#define _GNU_SOURCE  // memfd_create
#include "px_worker.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>

#define PX_COPY_MAX ((size_t)1 << 20)  // above, a body is sent from where it lies
#define PX_KEEP_OUT ((size_t)256 << 10)
#define PX_LOG_FIRST 1000000   // ns until the first look at what a watched prediction wrote
#define PX_LOG_EVERY 50000000  // ns between two looks
#define PX_RETRY 1000000       // ns until a socket that was full is tried again

// px_channel_tell: main writes again after PX_JOIN, which is less than the PX_TOLD after which the
// flusher would, so that a model that goes on telling never wakes it.
#define PX_JOIN 25000
#define PX_TOLD 30000
#define PX_BURST 32  // reached after as many PX_TOLD without a frame
#define PX_TOLD_BACKLOG ((size_t)1 << 20)  // more than this is not queued

static void header(char h[PX_HEADER], size_t len, uint8_t kind, uint8_t flags, uint64_t id, uint64_t nanos) {
  uint32_t n = (uint32_t)len;
  memset(h, 0, PX_HEADER);
  memcpy(h, &n, sizeof n);
  h[4] = (char)kind;
  h[5] = (char)flags;
  memcpy(h + 8, &id, sizeof id);
  memcpy(h + 16, &nanos, sizeof nanos);
}

// size_of is how many bytes there are in n parts.
static size_t size_of(const struct iovec *parts, int n) {
  size_t size = 0;
  for (int i = 0; i < n; i++) size += parts[i].iov_len;
  return size;
}

// is_shared tells whether what is queued lies where the front can take it.
static bool is_shared(struct px_channel *ch) { return ch->shared && ch->out.data == (char *)ch->shared->data; }

// emptied is told that all that was queued is gone. A forked child, whose
// channels are broken, must leave the parent's page alone.
static void emptied(struct px_channel *ch) {
  ch->sent = 0;
  ch->told_armed = false;
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

// cut takes the first k bytes, and parts that are empty, off n parts.
static struct iovec *cut(struct iovec *parts, int *n, size_t k) {
  for (; *n > 0 && k >= parts->iov_len; parts++, --*n) k -= parts->iov_len;
  if (*n > 0) *parts = (struct iovec){(char *)parts->iov_base + k, parts->iov_len - k};
  return parts;
}

// send_all sends n parts, of which it leaves nothing, waiting for the front, fd with the first byte.
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
    parts = cut(parts, &n, (size_t)k);
    ch->position += (size_t)k;
  }
  return true;
}

// flush_locked sends what is queued. true: nothing is left, or nobody to send it to.
static bool flush_locked(struct px_channel *ch, bool wait) {
  if (ch->out.len == 0) return true;
  while (ch->sent < ch->out.len && !ch->broken) {
    ssize_t k = send(ch->fd, ch->out.data + ch->sent, ch->out.len - ch->sent,
                     MSG_NOSIGNAL | (wait ? 0 : MSG_DONTWAIT));
    if (k >= 0) {
      ch->sent += (size_t)k;
      ch->position += (size_t)k;
    } else if (errno == EAGAIN) {
      return false;
    } else if (errno != EINTR) {
      ch->broken = true;  // the front is gone; the read that follows says so too
    }
  }
  emptied(ch);
  return true;
}

// send_directly sends n parts, the first of which is a header, after what is queued. Waits for the front. The header goes
// alone, so that the front has made room for the body when that comes.
static void send_directly(struct px_channel *ch, struct iovec *parts, int n, int fd) {
  flush_locked(ch, true);
  if (!ch->broken && !(send_all(ch, parts, 1, fd) && send_all(ch, parts + 1, n - 1, -1))) ch->broken = true;
  emptied(ch);  // for the position
}

// reserve makes room for n more bytes: where the front can take them, if they fit.
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

// append queues one frame of n parts, the first of which is its header. 0, or -1 with errno.
static int append(struct px_channel *ch, const struct iovec *parts, int n) {
  if (reserve(ch, size_of(parts, n)) < 0) {
    errno = ENOMEM;
    return -1;
  }
  if (ch->out.len == 0) ch->unsent_since = px_now();
  for (int i = 0; i < n; i++) px_buf_put(&ch->out, parts[i].iov_base, parts[i].iov_len);
  if (is_shared(ch)) atomic_store_explicit(&ch->shared->len, ch->out.len, memory_order_release);
  return 0;
}

size_t px_channel_backlog(struct px_channel *ch) {
  pthread_mutex_lock(&ch->mu);
  size_t n = ch->out.len - ch->sent;
  pthread_mutex_unlock(&ch->mu);
  return n;
}

bool px_channel_flush(struct px_channel *ch, bool wait) {
  pthread_mutex_lock(&ch->mu);
  bool done = flush_locked(ch, wait);
  pthread_mutex_unlock(&ch->mu);
  return done;
}

void px_flush_held(struct px_channel *ch) {
  if (px_channel_flush(ch, false)) return;
  PyThreadState *state = PyEval_SaveThread();
  px_channel_flush(ch, true);
  PyEval_RestoreThread(state);
}

// put_file sends a body of n parts, of which it leaves nothing, as a memory file: one copy, none through the socket.
static int put_file(struct px_channel *ch, uint8_t kind, uint64_t id, uint64_t nanos, struct iovec *body, int n) {
  char h[PX_HEADER];
  int status = -1;
  int fd = memfd_create("pinion-body", MFD_CLOEXEC);
  if (fd < 0) return -1;
  while (n > 0) {
    ssize_t k = writev(fd, body, n);
    if (k < 0 && errno == EINTR) continue;
    if (k < 0) goto out;
    body = cut(body, &n, (size_t)k);
  }
  header(h, 0, kind, PX_FLAG_FILE, id, nanos);
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
  return px_channel_put_parts(ch, kind, id, nanos, parts, 2);
}

int px_channel_put_parts(struct px_channel *ch, uint8_t kind, uint64_t id, uint64_t nanos, struct iovec *parts, int n) {
  size_t len = size_of(parts + 1, n - 1);
  if (len > PX_INLINE_MAX) return put_file(ch, kind, id, nanos, parts + 1, n - 1);
  int status = 0;
  char h[PX_HEADER];
  header(h, len, kind, 0, id, nanos);
  parts[0] = (struct iovec){h, PX_HEADER};
  pthread_mutex_lock(&ch->mu);
  if (ch->broken) {
    // Nobody listens; what is queued would stay here.
  } else if (len > PX_COPY_MAX) {
    send_directly(ch, parts, n, -1);
  } else {
    status = append(ch, parts, n);
    if (ch->out.len > PX_KEEP_OUT) flush_locked(ch, false);
  }
  pthread_mutex_unlock(&ch->mu);
  return status;
}

void px_channel_put_fd(struct px_channel *ch, uint8_t kind, uint64_t id, uint64_t nanos, int fd) {
  char h[PX_HEADER];
  header(h, 0, kind, PX_FLAG_FILE, id, nanos);
  struct iovec part = {h, PX_HEADER};
  pthread_mutex_lock(&ch->mu);
  send_directly(ch, &part, 1, fd);
  pthread_mutex_unlock(&ch->mu);
}

// ---- the flusher -----------------------------------------------------------

// set_timer sets the timer to what is due first. timer_mu is held.
static void set_timer(void) {
  uint64_t at = px_w.timer_due;
  if (px_w.log_due && (!at || px_w.log_due < at)) at = px_w.log_due;
  struct itimerspec t = {.it_value = {.tv_sec = (time_t)(at / 1000000000), .tv_nsec = (long)(at % 1000000000)}};
  timerfd_settime(px_w.timer, TFD_TIMER_ABSTIME, &t, NULL);
}

// arm_between has the flusher send what is queued, at the latest time or earlier. For a channel: nothing of what it
// asked for before is left. So as long as nobody else has asked, a time that is too soon may be put off. To set a timer is
// a dear thing on some virtual machines: one that goes off between the two times is left as it is.
static void arm_between(struct px_channel *ch, uint64_t soonest, uint64_t latest) {
  pthread_mutex_lock(&px_w.timer_mu);
  if (px_w.timer_due == 0) px_w.timer_for = ch;
  else if (px_w.timer_for != ch) px_w.timer_for = NULL;
  if (px_w.timer_due == 0 || latest < px_w.timer_due || (px_w.timer_for && px_w.timer_due < soonest)) {
    px_w.timer_due = latest;
    set_timer();
  }
  pthread_mutex_unlock(&px_w.timer_mu);
}

static void arm_after(struct px_channel *ch, uint64_t ns) {
  uint64_t now = px_now();
  arm_between(ch, now + ns, now + ns + PX_LATE);
}

void px_flusher_arm(uint64_t ns) { arm_after(NULL, ns); }

void px_flusher_arm_loop(void) {
  static struct px_channel loop;  // stands for all channels: an event loop flushes them together
  arm_after(&loop, PX_BACKSTOP);
}

void px_flusher_arm_for(struct px_channel *ch) {
  pthread_mutex_lock(&ch->mu);
  bool arm = ch->out.len > 0 && ch->armed_for != ch->unsent_since;
  if (arm) ch->armed_for = ch->unsent_since;
  arm = arm && !ch->told_armed;  // what was told goes sooner, and takes all else with it
  pthread_mutex_unlock(&ch->mu);
  if (arm) arm_after(ch, PX_BACKSTOP);
}

static void watch_in(uint64_t ns) {
  pthread_mutex_lock(&px_w.timer_mu);
  px_w.log_due = px_now() + ns;
  set_timer();
  pthread_mutex_unlock(&px_w.timer_mu);
}

void px_flusher_watch(void) { watch_in(PX_LOG_FIRST); }

int px_channel_tell(struct px_channel *ch, uint8_t kind, uint64_t id, const char *body, size_t len) {
  if (len > PX_COPY_MAX) return px_channel_put(ch, kind, id, 0, body, len);
  int status = 0;
  char h[PX_HEADER];
  header(h, len, kind, 0, id, 0);
  struct iovec parts[] = {{h, PX_HEADER}, {(char *)body, len}};
  pthread_mutex_lock(&ch->mu);
  uint64_t now = px_now(), due = 0;
  if (ch->broken) {
    // Nobody listens; what is queued would stay here.
  } else if (append(ch, parts, 2) < 0) {
    status = -1;
  } else {
    uint64_t pause = now - ch->told_at;
    bool at_once = pause >= PX_JOIN || ch->bursts > 0 || ch->out.len > PX_KEEP_OUT;
    if (pause >= PX_TOLD) {
      uint64_t bursts = ch->bursts + pause / PX_TOLD;
      ch->bursts = bursts < PX_BURST ? (unsigned)bursts : PX_BURST;
    } else if (pause < PX_JOIN && ch->bursts > 0) {
      ch->bursts--;
    }
    if (at_once) ch->told_at = now;
    if (!(at_once && flush_locked(ch, false)) && !ch->told_armed) {
      ch->told_armed = true;
      due = ch->told_at + PX_TOLD;
    }
    status = ch->out.len - ch->sent > PX_TOLD_BACKLOG;
  }
  pthread_mutex_unlock(&ch->mu);
  if (due) arm_between(ch, due, due + PX_LATE);
  return status;
}

// expired takes note that the timer went off: whether it is time to look at the log pipes.
static bool expired(void) {
  pthread_mutex_lock(&px_w.timer_mu);
  px_w.timer_due = 0;
  px_w.timer_for = NULL;
  bool look = px_w.log_due && px_now() >= px_w.log_due;
  if (look) px_w.log_due = 0;
  else if (px_w.log_due) set_timer();
  pthread_mutex_unlock(&px_w.timer_mu);
  return look;
}

// flush_due sends what is queued in a channel, without waiting. true: nothing is left.
static bool flush_due(struct px_channel *ch) {
  pthread_mutex_lock(&ch->mu);
  if (ch->told_armed) ch->told_at = px_now();
  bool done = flush_locked(ch, false);
  pthread_mutex_unlock(&ch->mu);
  return done;
}

static void *flusher(void *unused) {
  (void)unused;
  for (;;) {
    uint64_t expirations;
    ssize_t n = read(px_w.timer, &expirations, sizeof expirations);
    if (n < 0 && errno != EINTR) return NULL;
    if (expired() && px_log_live()) watch_in(PX_LOG_EVERY);
    pthread_mutex_lock(&px_w.mu);
    int count = px_w.nslots;
    pthread_mutex_unlock(&px_w.mu);
    bool left = false;
    for (int i = 0; i < count; i++) left |= !flush_due(px_w.slots[i]);
    if (left) px_flusher_arm(PX_RETRY);
  }
}

int px_flusher_start(void) {
  px_w.timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
  if (px_w.timer < 0) return -1;
  pthread_t thread;
  return pthread_create(&thread, NULL, flusher, NULL) == 0 ? 0 : -1;
}
