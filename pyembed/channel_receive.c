// The receiving half of a channel.
#include "channel_receive.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "channel_busypoll.h"
#include "channel_worker.h"

#define PX_FIRST_BUFFER ((size_t)64 << 10)
#define PX_KEEP_BUFFER ((size_t)1 << 20)  // bytes; an idle channel frees a larger buffer

static uint32_t load32(const char *p) {
  uint32_t v;
  memcpy(&v, p, sizeof v);
  return v;
}

static uint64_t load64(const char *p) {
  uint64_t v;
  memcpy(&v, p, sizeof v);
  return v;
}

void px_channel_share(struct px_channel *ch, struct px_channel *wire, struct px_slot_page *page) {
  memset(ch, 0, sizeof *ch);
  ch->wire = wire;
  ch->fd = -1;
  ch->page = page;
  pthread_mutex_init(&ch->mu, NULL);
  pthread_mutex_init(&ch->interrupt_mu, NULL);
  pthread_mutex_init(&ch->items_mu, NULL);
}

int px_channel_init(struct px_channel *ch, int fd, struct px_slot_page *page, struct px_out_page *shared) {
  px_channel_share(ch, ch, page);
  ch->in = px_malloc(PX_FIRST_BUFFER);
  if (!ch->in) return -1;
  ch->in_cap = PX_FIRST_BUFFER;
  ch->fd = fd;
  ch->shared = shared;
  if (shared) ch->out = (struct px_buf){(char *)shared->data, 0, PX_OUT_MAX};
  return 0;
}

// make_room grows or compacts the buffer so that need bytes fit after in_r.
static int make_room(struct px_channel *ch, size_t need) {
  if (ch->in_r == ch->in_w) {
    ch->in_r = ch->in_w = 0;
    if (ch->in_cap > PX_KEEP_BUFFER && need <= PX_FIRST_BUFFER) {
      char *less = px_realloc(ch->in, PX_FIRST_BUFFER);
      if (less) {
        ch->in = less;
        ch->in_cap = PX_FIRST_BUFFER;
      }
    }
  }
  if (ch->in_cap - ch->in_r >= need) return 0;
  memmove(ch->in, ch->in + ch->in_r, ch->in_w - ch->in_r);
  ch->in_w -= ch->in_r;
  ch->in_r = 0;
  if (ch->in_cap >= need) return 0;
  char *more = px_realloc(ch->in, need + PX_FIRST_BUFFER);
  if (!more) {
    errno = ENOMEM;
    return -1;
  }
  ch->in = more;
  ch->in_cap = need + PX_FIRST_BUFFER;
  return 0;
}

// take_descriptors takes over the descriptors that came with a message.
static int take_descriptors(struct px_channel *ch, struct msghdr *m) {
  for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < n; i++) {
      int fd;
      memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
      if (ch->nfds == PX_MAX_FDS) {
        close(fd);
        errno = EPROTO;
        return -1;
      }
      ch->fds[ch->nfds++] = fd;
    }
  }
  if (m->msg_flags & MSG_CTRUNC) {
    errno = EPROTO;
    return -1;
  }
  return 0;
}

// receive reads once, into the room that there is, as px_channel_fill.
static int receive(struct px_channel *ch, int flags) {
  union {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(PX_MAX_FDS * sizeof(int))];
  } control;
  struct iovec iov = {ch->in + ch->in_w, ch->in_cap - ch->in_w};
  struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};
  m.msg_control = control.bytes;
  m.msg_controllen = sizeof control.bytes;
  ssize_t n = recvmsg(ch->fd, &m, MSG_CMSG_CLOEXEC | flags);
  if (n < 0 && errno == ECONNRESET) return 0;  // the front died with bytes of ours unread
  if (n < 0) return -1;
  if (m.msg_controllen && take_descriptors(ch, &m) < 0) return -1;
  ch->in_w += (size_t)n;
  return n > 0;
}

// receive_one is receive for a channel whose frames arrive one at a time. It may busy-poll if the channel has a page.
static int receive_one(struct px_channel *ch) {
  return px_wait(ch->fd, ch->page ? &ch->short_waits : NULL, -1) < 0 ? -1 : receive(ch, 0);
}

int px_channel_fill(struct px_channel *ch, bool wait) {
  size_t have = ch->in_w - ch->in_r;
  size_t need = PX_HEADER;
  if (have >= PX_HEADER) need += load32(ch->in + ch->in_r);
  if (make_room(ch, need) < 0) return -1;
  bool alone = ch->taken <= 1;
  ch->taken = 0;
  return wait && alone && have == 0 ? receive_one(ch) : receive(ch, wait ? 0 : MSG_DONTWAIT);
}

// attach gives a frame the descriptor that came with it.
static int attach(struct px_channel *ch, struct px_frame *f) {
  if (ch->nfds == 0) {
    errno = EPROTO;
    return -1;
  }
  int fd = ch->fds[0];
  memmove(ch->fds, ch->fds + 1, (size_t)--ch->nfds * sizeof fd);
  if (f->kind == PX_SLOT || f->kind == PX_HANDLE) {
    f->fd = fd;
    return 0;
  }
  if (f->len > 0) {
    f->file = fd;
    return 0;
  }
  struct stat st;
  int status = fstat(fd, &st);
  if (status == 0 && st.st_size > 0) {
    void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
    if (map == MAP_FAILED) {
      status = -1;
    } else {
      f->map = map;
      f->body = map;
      f->len = (size_t)st.st_size;
    }
  }
  int saved = errno;
  close(fd);
  errno = saved;
  return status;
}

int px_channel_next(struct px_channel *ch, struct px_frame *f) {
  size_t have = ch->in_w - ch->in_r;
  if (have < PX_HEADER) return 0;
  const char *h = ch->in + ch->in_r;
  size_t len = load32(h);
  if (len > PX_INLINE_MAX) {
    errno = EPROTO;
    return -1;
  }
  if (have < PX_HEADER + len) return 0;
  *f = (struct px_frame){.kind = (uint8_t)h[4],
                         .flags = (uint8_t)h[5],
                         .id = load64(h + 8),
                         .body = h + PX_HEADER,
                         .len = len,
                         .fd = -1,
                         .file = -1,
                         .room = load64(h + 16)};
  ch->in_r += PX_HEADER + len;
  ch->taken += !(f->flags & PX_FLAG_BATCH_ITEM);
  if (f->flags & PX_FLAG_FILE && attach(ch, f) < 0) return -1;
  return 1;
}

void px_frame_close(struct px_frame *f) {
  if (f->map) munmap(f->map, f->len);
  if (f->file >= 0) close(f->file);
  f->file = -1;
  f->map = NULL;
  f->body = NULL;
}
