#define _GNU_SOURCE  // RTLD_NEXT
#include "process_next.h"

#include <dlfcn.h>
#include <stdatomic.h>

void *px_find_next(void *_Atomic *found, const char *name) {
  void *f = atomic_load_explicit(found, memory_order_relaxed);
  if (!f) {
    f = dlsym(RTLD_NEXT, name);
    atomic_store_explicit(found, f, memory_order_relaxed);
  }
  return f;
}
