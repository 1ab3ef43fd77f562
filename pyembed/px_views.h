// px_views.c lets arrays use memory of a request without a copy.
#ifndef PX_VIEWS_H
#define PX_VIEWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "px_frame.h"
#include "px_python.h"

// px_shared_views_file is px_shared_views where there is a file.
struct px_shared px_shared_views_file(int fd, uint64_t room);

// px_shared_views is px_shared_map, but arrays that lie in front of room may use the memory without a copy until
// px_views_end, and longer where that says so. fd must stay open until then. GIL held, main thread; one at a time.
static inline struct px_shared px_shared_views(int fd, uint64_t room) {
  return fd < 0 ? (struct px_shared){NULL, 0, NULL} : px_shared_views_file(fd, room);
}

// px_views_cover tells whether arrays may use these bytes, and what the model writes there reaches the front. views may
// be NULL.
bool px_views_cover(const struct px_views *views, uint64_t offset, uint64_t size);

// px_views_elements is a buffer of elements that lie in shared: a bytearray with a copy, or the memory itself, if that
// is allowed and it is aligned. GIL. New reference, or NULL with an exception.
PyObject *px_views_elements(struct px_shared shared, uint64_t offset, uint64_t size);

// px_views_current is of the request that runs; NULL: it has none. Written with the GIL held.
extern struct px_views *px_views_current;

// px_views_finish is px_views_end where it was begun.
bool px_views_finish(void);

// px_views_end ends that, if it was begun. true: arrays or a child of the model still use the memory, so that no other
// request may have it. GIL held.
static inline bool px_views_end(void) { return px_views_current && px_views_finish(); }

// px_views_before_fork and px_views_after_fork are called around each fork, on the same thread. No GIL needed.
void px_views_before_fork(void);
void px_views_after_fork(void);

#endif
