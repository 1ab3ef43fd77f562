// Frames, as ipc/PROTOCOL.md describes them. Tests of ipc compare these numbers with Go's.
#ifndef PX_FRAME_H
#define PX_FRAME_H

#include <stddef.h>
#include <stdint.h>

// Kinds of frames; ipc/kind.go says what each holds.
enum px_kind {
  PX_PREDICT = 1,
  PX_BATCH = 2,
  PX_DROP = 3,
  PX_SUCCEEDED = 16,
  PX_FAILED = 17,
  PX_CANCELED = 18,
  PX_LOG = 19,
  PX_LOG_MARK = 20,
  PX_STARTED = 21,
  PX_OUTPUT = 22,
  PX_METRIC = 23,
  PX_PREPARED = 24,
  PX_BATCH_DONE = 25,
  PX_LOG_PIPE = 26,
  PX_LOG_PIPES_END = 27,
  PX_TRACED = 28,
  PX_CALLS = 29,
  PX_CUDA = 36,
  PX_HEALTHY = 37,
  PX_PONG = 38,
  PX_PRELOADED = 39,
  PX_FORKED = 40,
  PX_SLOT = 48,
  PX_SHUTDOWN = 49,
  PX_HEALTH = 50,
  PX_PING = 51,
  PX_HANDLE = 52,
  PX_FORK = 53,
  PX_INTERRUPT = 54,
  PX_CALL = 56,
};

#define PX_HEADER 24
#define PX_FLAG_FILE 1
#define PX_FLAG_EVENTS 2
#define PX_FLAG_TRAIN 4
#define PX_FLAG_BATCH_ITEM 8
#define PX_FLAG_TRACE 16
#define PX_FLAG_KEPT 32
#define PX_INLINE_MAX ((size_t)16 << 20)
#define PX_MAX_FDS 64

// Memory that the front writes and reads too.
struct px_shared {
  char *at;  // NULL: there is none
  size_t size;
  struct px_views *views;  // by which arrays may use it without a copy; NULL: they may not
};

// A received frame. body is valid until px_frame_done.
struct px_frame {
  uint8_t kind, flags;
  uint64_t id;
  const char *body;
  size_t len;
  void *map;  // not NULL: body is this mapping
  int fd;     // -1, or a descriptor that came with a PX_SLOT or PX_HANDLE frame
  int file;   // -1, or the memory file that tensors of a PX_PREDICT frame may lie in
  uint64_t room;  // from this offset on tensors of the answer may be written to it
};

#endif
