// Counted memory, and a buffer that grows. All memory that this package's C
// code allocates for itself comes from here, so that a test can say after any
// path, errors included, that nothing was left.
//
// No function here touches Python: any thread, with or without the GIL. None
// sets a Python error; the caller turns a NULL or -1 into PyErr_NoMemory.
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base_python.h"

// px_mem_configure lets malloc keep some freed memory, unless the environment configures it. Once, before there are
// threads.
void px_mem_configure(void);

// px_malloc returns n bytes (one, if n is 0) or NULL. The caller frees them with px_free.
void *px_malloc(size_t n);

// px_realloc resizes p, which may be NULL, to n bytes. It returns NULL without memory: p is then unchanged.
void *px_realloc(void *p, size_t n);

// px_grow_array does the work of px_grow if there is no room.
void *px_grow_array(void *array, size_t *cap, size_t size);

// px_grow makes room for more than n elements of that size in an array with room for *cap. It returns the array, which
// may have moved, or NULL without memory: the array is then unchanged.
static inline void *px_grow(void *array, size_t *cap, size_t n, size_t size) {
  return n < *cap ? array : px_grow_array(array, cap, size);
}

// px_free frees p, which may be NULL.
void px_free(void *p);

// px_mem_live counts the blocks allocated and not yet freed; px_mem_total all ever allocated.
uint64_t px_mem_live(void);
uint64_t px_mem_total(void);

#ifdef PX_TEST
// px_mem_fail_at makes the nth allocation from now on fail, once (1 is the next; 0 is none).
void px_mem_fail_at(uint64_t n);
#endif

// A growing array of bytes, not NUL-terminated. {0} is an empty one. It has
// one owner at a time; nothing in it is locked.
struct px_buf {
  char *data;
  size_t len, cap;
};

// px_buf_grow makes room for n more bytes, at least doubling; 0, or -1 without memory (b unchanged).
int px_buf_grow(struct px_buf *b, size_t n);

// px_buf_trim frees the room if it is above keep bytes, and empties the buffer in any case. For buffers that live as
// long as the worker, so that one large answer is not kept forever.
void px_buf_trim(struct px_buf *b, size_t keep);

// px_buf_free frees the room and leaves b as {0}.
void px_buf_free(struct px_buf *b);

// px_buf_take takes the kept buffer out of its place, or an empty one if it is taken: Python code that the caller runs
// may need a buffer too. GIL held.
static inline struct px_buf px_buf_take(struct px_buf *place) {
  px_guard();
  struct px_buf b = *place;
  *place = (struct px_buf){0};
  px_unguard();
  return b;
}

// px_buf_give_back empties a buffer, frees its room if that is above keep bytes, and puts it in its place. If another
// is there already, it frees it. GIL held.
static inline void px_buf_give_back(struct px_buf *place, struct px_buf *b, size_t keep) {
  px_buf_trim(b, keep);
  px_guard();
  struct px_buf kept = place->data ? *place : *b, other = place->data ? *b : *place;
  *place = kept;
  px_unguard();
  px_buf_free(&other);
}

// px_buf_reserve sees that n more bytes fit; 0 or -1 as px_buf_grow.
static inline int px_buf_reserve(struct px_buf *b, size_t n) { return b->cap - b->len >= n ? 0 : px_buf_grow(b, n); }

// px_buf_put appends n bytes; 0 or -1 as px_buf_grow.
static inline int px_buf_put(struct px_buf *b, const void *p, size_t n) {
  if (px_buf_reserve(b, n) < 0) return -1;
  if (n) memcpy(b->data + b->len, p, n);
  b->len += n;
  return 0;
}

// px_buf_putc appends one byte; 0 or -1 as px_buf_grow.
static inline int px_buf_putc(struct px_buf *b, char c) {
  if (px_buf_reserve(b, 1) < 0) return -1;
  b->data[b->len++] = c;
  return 0;
}

#endif
