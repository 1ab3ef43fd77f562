// One socket to the front: px_receive.c reads it, px_send.c writes it, px_flusher.c sends what main was too busy to send.
#ifndef PX_CHANNEL_H
#define PX_CHANNEL_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/uio.h>

#include "px_frame.h"
#include "px_mem.h"
#include "px_page.h"
#include "px_python.h"

#define PX_COPY_MAX ((size_t)1 << 20)  // a longer body is sent from where it lies
#define PX_KEEP_OUT ((size_t)256 << 10)  // more than this in out is sent at once
#define PX_LATE 100000  // ns by which the flusher may be late

struct px_json_room;

struct px_channel {
  int fd;
  struct px_slot_page *page;  // NULL: the control socket
  _Atomic uint64_t current;  // the request that is claimed and not answered, or 0; read by any thread: px_get
  uint64_t cancel_taken;  // the cancel word that a signal handler has acted on; GIL held
  PyObject
      *settle_text;  // sends what its prediction has printed; NULL: the log pipes have that, or an event loop sends it
  // Of a slot with a thread: see px_interrupt.h. interrupt_mu guards what follows and cancel_taken.
  pthread_mutex_t interrupt_mu;  // a leaf
  pthread_t thread;
  bool thread_ended;
  uint64_t inside;  // the prediction that may be interrupted, or 0
  _Atomic bool interrupted;  // its exception is to be raised with the next bytecode

  struct px_json_room *room;  // for arrays of the answer to current; NULL: there is none; GIL held

  // Input, of the one thread that reads this channel.
  char *in;
  size_t in_cap, in_r, in_w;
  int fds[PX_MAX_FDS];
  int nfds;
  unsigned taken;  // frames since the last read; a batch with its items counts as one
  unsigned short_waits;  // see px_wait

  // Output, guarded by mu.
  pthread_mutex_t mu;
  struct px_buf out;  // lies in shared while what is queued fits there
  size_t sent;  // bytes of out that are sent
  struct px_out_page *shared;  // NULL: the control socket
  uint64_t position;  // bytes of the stream that are sent
  uint64_t unsent_since;  // ns, monotonic; of the first answer in out
  bool broken;  // the front has closed its end

  uint64_t armed_for;  // the unsent_since that the flusher knows of
  uint64_t emitted_at;  // ns, monotonic: when the last frame of px_channel_emit left
  unsigned bursts;  // how many frames may still leave one by one
  bool emit_armed;  // the flusher knows of frames of px_channel_emit in out
};

// ---- px_receive.c -----------------------------------------------------------

// px_channel_init makes a channel of a connected stream socket, which it then owns. Frames are queued in shared, if that is
// not NULL, so that the front gets them even if the worker is killed. 0, or -1 without memory. Any thread.
int px_channel_init(struct px_channel *ch, int fd, struct px_slot_page *page, struct px_out_page *shared);

// px_channel_fill reads once, and waits for bytes if wait is set. No GIL needed. > 0: bytes came; 0: the front has closed
// the channel; -1: see errno (EINTR; EAGAIN without wait; ENOMEM; EPROTO for what no front sends).
int px_channel_fill(struct px_channel *ch, bool wait);

// px_channel_next takes the next whole frame out of what was read. 1: *f is set, px_frame_done it; 0: none is whole yet;
// -1: as px_channel_fill.
int px_channel_next(struct px_channel *ch, struct px_frame *f);

// px_frame_close gives back what came beside the body: px_frame_done, for a frame that has such.
void px_frame_close(struct px_frame *f);

// px_frame_done ends the use of a frame.
static inline void px_frame_done(struct px_frame *f) {
  if (f->map || f->file >= 0) px_frame_close(f);
}

// ---- px_shared.c ------------------------------------------------------------

// px_shared_map_file is px_shared_map where there is a file.
struct px_shared px_shared_map_file(int fd);

// px_shared_map is the memory of a file that came with a frame, mapped until some others were; it is empty without one, or
// without memory. GIL held.
static inline struct px_shared px_shared_map(int fd) {
  return fd < 0 ? (struct px_shared){NULL, 0, NULL} : px_shared_map_file(fd);
}

// px_shared_map_once maps a file, or nothing for -1, until px_shared_unmap. No GIL needed.
struct px_shared px_shared_map_once(int fd);
void px_shared_unmap(struct px_shared shared);

// px_shared_forget takes the mapping at that address out of those that are used again. GIL held.
void px_shared_forget(const char *at);

// ---- px_views.c --------------------------------------------------------------

// px_shared_views_file is px_shared_views where there is a file.
struct px_shared px_shared_views_file(int fd, uint64_t room);

// px_shared_views is px_shared_map, but arrays that lie in front of room may use the memory without a copy until px_views_end,
// and longer where that says so. fd must stay open until then. GIL held, main thread; one at a time.
static inline struct px_shared px_shared_views(int fd, uint64_t room) {
  return fd < 0 ? (struct px_shared){NULL, 0, NULL} : px_shared_views_file(fd, room);
}

// px_views_cover tells whether arrays may use these bytes, and what the model writes there reaches the front. views may
// be NULL.
bool px_views_cover(const struct px_views *views, uint64_t offset, uint64_t size);

// px_views_current is of the request that runs; NULL: it has none. Written with the GIL held.
extern struct px_views *px_views_current;

// px_views_finish is px_views_end where it was begun.
bool px_views_finish(void);

// px_views_end ends that, if it was begun. true: arrays or a child of the model still use the memory, so that no other request
// may have it. GIL held.
static inline bool px_views_end(void) { return px_views_current && px_views_finish(); }

// px_views_before_fork and px_views_after_fork are called around each fork, on the same thread. No GIL needed.
void px_views_before_fork(void);
void px_views_after_fork(void);

// ---- px_busypoll.c ----------------------------------------------------------

// px_wait waits until fd is readable, for at most `most` ns; < 0: without limit. 1; 0: the time is over; -1: see errno. No
// GIL. It busy-polls if short_waits is not NULL: the caller keeps that count for this alone, and sets it to 0 at first.
int px_wait(int fd, unsigned *short_waits, int64_t most);

// ---- px_send.c --------------------------------------------------------------

// px_channel_put queues one frame; body is copied or sent. 0, or -1 without memory or descriptors. The GIL is not released.
// Only a body of more than PX_COPY_MAX can make the call wait for the front.
int px_channel_put(struct px_channel *ch, uint8_t kind, uint64_t id, uint64_t nanos, const char *body, size_t len);

// px_channel_put_parts is px_channel_put, with flags, of a body that lies in parts[1] to parts[n - 1], in this order; parts[0]
// is room for the header. It changes parts; when it returns, it does not need the bytes any more.
int px_channel_put_parts(struct px_channel *ch, uint8_t kind, uint8_t flags, uint64_t id, uint64_t nanos,
                         struct iovec *parts, int n);

// px_channel_put_fd sends a frame without a body, with a descriptor. It waits for the front if the socket is full.
void px_channel_put_fd(struct px_channel *ch, uint8_t kind, uint64_t id, uint64_t nanos, int fd);

// px_channel_flush sends what is queued. With wait it waits for the front; then the GIL must not be held. true: nothing is
// left, or the front has closed the channel.
bool px_channel_flush(struct px_channel *ch, bool wait);

// px_flush_with_gil sends what is queued, with the GIL held on entry and exit. It releases the GIL while it waits.
void px_flush_with_gil(struct px_channel *ch);

// px_channel_emit queues a frame that the front should read soon; px_send.c says when it leaves. As px_channel_put, but 1
// when so much is queued that the caller should px_flush_with_gil.
int px_channel_emit(struct px_channel *ch, uint8_t kind, uint64_t id, const char *body, size_t len);

// px_channel_backlog is the number of bytes queued and not sent. Any thread.
size_t px_channel_backlog(struct px_channel *ch);

// px_channel_flush_due is px_channel_flush without waiting, for the flusher.
bool px_channel_flush_due(struct px_channel *ch);

// ---- px_flusher.c -----------------------------------------------------------

// px_flusher_start starts the thread that sends all that is queued when its timer fires. 0 or -1.
int px_flusher_start(void);

// px_flusher_abandon closes the timer in a forked child, which does not have the thread.
void px_flusher_abandon(void);

// px_flusher_arm_between has the timer fire between two points of time, for what is queued in this channel.
void px_flusher_arm_between(struct px_channel *ch, uint64_t soonest, uint64_t latest);

// px_flusher_arm_for has it fire for what was queued first in this channel. It does so only once for that: later frames
// must not put it off.
void px_flusher_arm_for(struct px_channel *ch);

// px_flusher_arm_loop has it fire for what is queued now in any channel. What was queued at the last call must be sent.
void px_flusher_arm_loop(void);

// px_flusher_watch has the flusher look soon at what the prediction log_watch wrote.
void px_flusher_watch(void);

#endif
