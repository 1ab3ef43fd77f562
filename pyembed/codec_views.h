// codec_views.c lets arrays use memory of a request without a copy.
#ifndef CODEC_VIEWS_H
#define CODEC_VIEWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec_shared.h"
#include "base_python.h"

// px_shared_views_file does the work of px_shared_views if there is a file.
struct px_shared px_shared_views_file(int fd, uint64_t room);

// px_shared_views is px_shared_map, except that arrays in front of room may use the memory without a copy until
// px_views_end, and longer if that returns true. fd must stay open until then. Main thread, GIL held; one at a time.
static inline struct px_shared px_shared_views(int fd, uint64_t room) {
  return fd < 0 ? (struct px_shared){NULL, 0, NULL} : px_shared_views_file(fd, room);
}

// px_views_cover tells whether arrays may use these bytes, and the front sees what the model writes there. views may be
// NULL. GIL held.
bool px_views_cover(const struct px_views *views, uint64_t offset, uint64_t size);

// px_views_elements returns a buffer of elements that lie in shared: the memory itself, if that is allowed and it is
// aligned, else a bytearray with a copy. GIL held. New reference, or NULL with an exception.
PyObject *px_views_elements(struct px_shared shared, uint64_t offset, uint64_t size);

// px_views_current belongs to the running request; NULL: it has none. Written with the GIL held.
extern struct px_views *px_views_current;

// px_views_finish does the work of px_views_end if px_views_current is set.
bool px_views_finish(void);

// px_views_end ends what px_shared_views began, if anything. It returns true if arrays or a child of the model still
// use the memory: no other request may then have it. Main thread, GIL held.
static inline bool px_views_end(void) { return px_views_current && px_views_finish(); }

// px_views_before_fork and px_views_after_fork are called around each fork, on the same thread. No GIL needed.
void px_views_before_fork(void);
void px_views_after_fork(void);

#endif
