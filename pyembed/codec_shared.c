// Mappings of the memory files that the front sends with requests and reuses.
#include "codec_shared.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define KEPT 16  // mappings; a new one costs a page fault for each page

struct mapping {
  dev_t device;
  ino_t number;  // no other file has it while this one is mapped
  struct px_shared memory;
};

// The mappings, the most recently used one first. GIL held.
static struct mapping kept[KEPT];
static int count;

// touch makes a mapping the most recently used one.
static struct px_shared touch(int i) {
  struct mapping m = kept[i];
  memmove(kept + 1, kept, (size_t)i * sizeof *kept);
  kept[0] = m;
  return m.memory;
}

// map maps a file of that size; empty without memory.
static struct px_shared map(int fd, size_t size) {
  void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return at == MAP_FAILED ? (struct px_shared){NULL, 0, NULL} : (struct px_shared){at, size, NULL};
}

struct px_shared px_shared_map_once(int fd) {
  struct stat st;
  if (fd < 0 || fstat(fd, &st) < 0 || st.st_size <= 0) return (struct px_shared){NULL, 0, NULL};
  return map(fd, (size_t)st.st_size);
}

void px_shared_unmap(struct px_shared shared) {
  if (shared.at) munmap(shared.at, shared.size);
}

struct px_shared px_shared_map_file(int fd) {
  struct px_shared none = {NULL, 0, NULL};
  struct stat st;
  if (fstat(fd, &st) < 0 || st.st_size <= 0) return none;
  for (int i = 0; i < count; i++)
    if (kept[i].number == st.st_ino && kept[i].device == st.st_dev) return touch(i);
  struct px_shared memory = map(fd, (size_t)st.st_size);
  if (!memory.at) return none;
  if (count == KEPT)
    munmap(kept[KEPT - 1].memory.at, kept[KEPT - 1].memory.size);
  else
    count++;
  kept[count - 1] = (struct mapping){st.st_dev, st.st_ino, memory};
  return touch(count - 1);
}

void px_shared_forget(const char *at) {
  for (int i = 0; i < count; i++)
    if (kept[i].memory.at == at) memmove(kept + i, kept + i + 1, (size_t)(--count - i) * sizeof *kept);
}
