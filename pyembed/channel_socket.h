// One socket to the front. channel_receive.h reads it, channel_send.h writes it, and channel_flusher.h sends what main was too busy to
// send.
#ifndef CHANNEL_SOCKET_H
#define CHANNEL_SOCKET_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/uio.h>

#include "channel_frame.h"
#include "base_mem.h"
#include "channel_page.h"
#include "base_python.h"

#define PX_COPY_MAX ((size_t)1 << 20)  // bytes; a longer body is sent without a copy
#define PX_KEEP_OUT ((size_t)256 << 10)  // bytes; if more are queued, they are sent at once
#define PX_LATE 100000  // ns by which the flusher may be late

struct px_json_room;

struct px_channel {
  // The channel whose socket this one uses, for both directions: itself, or the first slot's on an event loop. Input and
  // output below are those of that one.
  struct px_channel *wire;
  int fd;  // -1: it has the socket of its wire
  struct px_slot_page *page;  // NULL: the control socket
  _Atomic uint64_t current;  // the request that is claimed and not answered, or 0; any thread reads it, with px_get
  uint64_t cancel_taken;  // the cancel word that a signal handler has acted on; GIL held
  PyObject
      *flush_text;  // sends what the prediction has printed; NULL: the log pipes have it, or an event loop sends it
  // Of a slot with a thread: see interpreter_interrupt.h. interrupt_mu guards what follows and cancel_taken.
  pthread_mutex_t interrupt_mu;  // a leaf
  pthread_t thread;
  bool thread_ended;
  uint64_t inside;  // the prediction that may be interrupted, or 0
  _Atomic bool interrupted;  // its exception is to be raised with the next bytecode
  PyObject *raises;  // its type, borrowed; NULL: the usual one
  PyObject *raised;  // that exception, once it was raised, or NULL
  uint64_t raised_at;  // when, by px_now
  uint64_t due_at;  // when main was to raise it, likewise

  // Of a streamed input that its model reads from this socket: see serving_items.c.
  pthread_mutex_t items_mu;  // guards what follows; while items_of is set, what is of input too
  uint64_t items_of;  // its prediction, or 0
  unsigned items_read;  // taken, and not reported to the front
  size_t items_bytes;  // of these

  struct px_json_room *room;  // for arrays of the answer to current, or NULL; GIL held

  // Input, of the one thread that reads this channel.
  char *in;
  size_t in_cap, in_r, in_w;
  int fds[PX_MAX_FDS];
  int nfds;
  unsigned taken;  // frames since the last read; a batch with its items counts as one
  unsigned short_waits;  // see px_wait

  // Output, guarded by mu.
  pthread_mutex_t mu;
  struct px_buf out;  // its memory is in shared, while the queued bytes fit there
  size_t sent;  // bytes of out that are sent
  struct px_out_page *shared;  // NULL: the control socket
  uint64_t position;  // bytes of the stream that are sent
  uint64_t unsent_since;  // ns, monotonic; of the first answer in out
  bool broken;  // the front has closed its end

  uint64_t armed_for;  // the unsent_since that the flusher knows of
  uint64_t emitted_at;  // ns, monotonic: when the last frame of px_channel_emit left
  unsigned bursts;  // how many frames may still leave one by one
  bool emit_armed;  // the flusher knows of frames of px_channel_emit in out
  bool turns;  // an event loop calls px_channel_end_turn
  pthread_t loop;  // its thread
  bool turn_open;  // frames wait for that
  bool turn_armed;  // the flusher sends what waits for the end of the turn
  unsigned late;  // so many frames do not wait for it, because the loop was blocked
};

#endif
