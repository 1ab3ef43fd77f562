// codec_shared.c maps memory that the front shares.
#ifndef CODEC_SHARED_H
#define CODEC_SHARED_H

#include <stddef.h>

// Memory that this process shares with the front.
struct px_shared {
  char *at;  // NULL: there is none
  size_t size;
  struct px_views *views;  // lets arrays use it without a copy; NULL: they may not
};

// px_shared_map_file does the work of px_shared_map if there is a file.
struct px_shared px_shared_map_file(int fd);

// px_shared_map maps a file that came with a frame. The mapping is kept until many other files were mapped. Without a
// file (fd -1) or memory the result is empty. GIL held.
static inline struct px_shared px_shared_map(int fd) {
  return fd < 0 ? (struct px_shared){NULL, 0, NULL} : px_shared_map_file(fd);
}

// px_shared_map_once maps a file until px_shared_unmap. The result is empty as that of px_shared_map. No GIL needed.
struct px_shared px_shared_map_once(int fd);
void px_shared_unmap(struct px_shared shared);

// px_shared_forget gives the mapping at that address to the caller: px_shared_map does not return it again. GIL held.
void px_shared_forget(const char *at);

#endif
