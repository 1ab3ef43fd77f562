#include "base_mem.h"

#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static _Atomic uint64_t live, total;

#ifdef PX_TEST
static _Atomic uint64_t until_failure;

void px_mem_fail_at(uint64_t n) { atomic_store(&until_failure, n); }

static int must_fail(void) {
  uint64_t n = atomic_load(&until_failure);
  return n != 0 && atomic_fetch_sub(&until_failure, 1) == 1;
}
#else
static int must_fail(void) { return 0; }
#endif

// How much memory at the end of the heap stays with the process, and from which size on a piece has its own mapping.
// glibc's limits follow what was freed last. For a body of a megabyte it would ask the kernel for each page in each
// request, which takes longer than the rest of the request.
#define PX_TRIM (64 << 20)
#define PX_MAP (32 << 20)

void px_mem_configure(void) {
  extern char **environ;
  for (char **e = environ; *e; e++)
    if (!strncmp(*e, "MALLOC_", 7) || !strncmp(*e, "GLIBC_TUNABLES=", 15) || !strncmp(*e, "LD_PRELOAD=", 11)) return;
  mallopt(M_MMAP_THRESHOLD, PX_MAP);
  mallopt(M_TRIM_THRESHOLD, PX_TRIM);
}

// PX_HUGE is the size of a huge page, and of the pieces that its address must be a multiple of.
#define PX_HUGE ((uintptr_t)2 << 20)

// use_huge_pages asks for huge pages in a block with its own mapping: the page faults of twelve thousand small pages
// take longer than filling them. Where the kernel has none, nothing changes.
static void use_huge_pages(void *p, size_t n) {
  uintptr_t from = ((uintptr_t)p + PX_HUGE - 1) & ~(PX_HUGE - 1), to = ((uintptr_t)p + n) & ~(PX_HUGE - 1);
  int saved = errno;
  if (from < to) madvise((void *)from, to - from, MADV_HUGEPAGE);
  errno = saved;
}

void *px_malloc(size_t n) { return px_realloc(NULL, n); }

void *px_realloc(void *p, size_t n) {
  if (must_fail()) return NULL;
  void *q = realloc(p, n ? n : 1);  // realloc(p, 0) may free p
  if (q && !p) {
    atomic_fetch_add_explicit(&live, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&total, 1, memory_order_relaxed);
  }
  if (q && n >= PX_MAP) use_huge_pages(q, n);
  return q;
}

void *px_grow_array(void *array, size_t *cap, size_t size) {
  size_t more = *cap ? 2 * *cap : 32;
  void *p = px_realloc(array, more * size);
  if (p) *cap = more;
  return p;
}

void px_free(void *p) {
  if (!p) return;
  atomic_fetch_sub_explicit(&live, 1, memory_order_relaxed);
  free(p);
}

uint64_t px_mem_live(void) { return atomic_load_explicit(&live, memory_order_relaxed); }

uint64_t px_mem_total(void) { return atomic_load_explicit(&total, memory_order_relaxed); }

int px_buf_grow(struct px_buf *b, size_t n) {
  if (n > SIZE_MAX / 2 - b->len) return -1;
  size_t want = b->len + n, cap = b->cap ? b->cap * 2 : 256;
  if (cap < want) cap = want;
  char *data = px_realloc(b->data, cap);
  if (!data) return -1;
  b->data = data;
  b->cap = cap;
  return 0;
}

void px_buf_trim(struct px_buf *b, size_t keep) {
  if (b->cap > keep) px_buf_free(b);
  b->len = 0;
}

void px_buf_free(struct px_buf *b) {
  px_free(b->data);
  *b = (struct px_buf){0};
}
