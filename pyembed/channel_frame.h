// Frames, as ipc/PROTOCOL.md describes them. A test of ipc compares these numbers with Go's.
#ifndef CHANNEL_FRAME_H
#define CHANNEL_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "channel_kind.h"

#define PX_HEADER 24
#define PX_INLINE_MAX ((size_t)16 << 20)
#define PX_MAX_FDS 64

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
