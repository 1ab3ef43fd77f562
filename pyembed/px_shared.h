// px_shared.c maps memory that the front shares.
#ifndef PX_SHARED_H
#define PX_SHARED_H

#include "px_frame.h"

// px_shared_map_file is px_shared_map where there is a file.
struct px_shared px_shared_map_file(int fd);

// px_shared_map is the memory of a file that came with a frame, mapped until some others were; it is empty without one,
// or without memory. GIL held.
static inline struct px_shared px_shared_map(int fd) {
  return fd < 0 ? (struct px_shared){NULL, 0, NULL} : px_shared_map_file(fd);
}

// px_shared_map_once maps a file, or nothing for -1, until px_shared_unmap. No GIL needed.
struct px_shared px_shared_map_once(int fd);
void px_shared_unmap(struct px_shared shared);

// px_shared_forget takes the mapping at that address out of those that are used again. GIL held.
void px_shared_forget(const char *at);

#endif
