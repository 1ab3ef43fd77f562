// The threads that a fork would lack, which are there when the preload process is to fork a worker, with the library
// that each is of.
#define _GNU_SOURCE  // dladdr
#include "process_foreign.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "channel_worker.h"

#define MAX_FOREIGN 32
#define MAX_NOTED 256

static struct {
  char go_name[PX_THREAD_NAME];  // of Go's threads, which were there before main got another name
  int n;
  struct px_foreign found[MAX_FOREIGN];
  struct {
    _Atomic int tid;
    const void *_Atomic origin;
  } noted[MAX_NOTED];  // the last threads that were created
  _Atomic unsigned nnoted;
  int nsafe;  // Python's threads that their library starts again in a fork
  int safe[MAX_FOREIGN];
  pid_t self;
} threads;

void px_foreign_init(void) {
  threads.self = getpid();
  prctl(PR_GET_NAME, threads.go_name);
}

void px_foreign_forget(void) { threads.self = 0; }

void px_foreign_excuse(int tid) {
  if (threads.nsafe < MAX_FOREIGN) threads.safe[threads.nsafe++] = tid;
}

int px_foreign_found(const struct px_foreign **list) {
  *list = threads.found;
  return threads.n;
}

// name_of reads the name of one of our threads; false where it has ended.
static bool name_of(const char *tid, char *name) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/task/%.20s/comm", (int)threads.self, tid);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  ssize_t n = read(fd, name, PX_THREAD_NAME);
  close(fd);
  if (n <= 0) return false;
  name[n - 1] = '\0';  // a newline stands there
  return true;
}

const void *px_foreign_origin(void *(*function)(void *), void *argument) {
  Dl_info start;
  if (threads.self == 0 || getpid() != threads.self) return NULL;
  const void *origin = *(void **)&function;
  if (!argument || !dladdr(origin, &start) || !start.dli_fname || !strstr(start.dli_fname, "/libstdc++.so"))
    return origin;
  return *(void **)argument;  // a std::thread's state: the table of its virtual functions, of the library that made it
}

void px_foreign_note(const void *origin) {
  if (!origin) return;
  unsigned at = atomic_fetch_add(&threads.nnoted, 1) % MAX_NOTED;
  atomic_store(&threads.noted[at].origin, origin);
  atomic_store(&threads.noted[at].tid, (int)syscall(SYS_gettid));
}

// library_of writes the end of the path of the library that a thread is of; "": unknown.
static void library_of(int tid, char *library) {
  Dl_info found;
  library[0] = '\0';
  unsigned end = atomic_load(&threads.nnoted);
  for (unsigned i = end; i > 0 && end - i < MAX_NOTED; i--) {  // from the last on: the kernel uses numbers again
    unsigned at = (i - 1) % MAX_NOTED;
    if (atomic_load(&threads.noted[at].tid) != tid) continue;
    if (!dladdr(atomic_load(&threads.noted[at].origin), &found) || !found.dli_fname) return;
    size_t n = strlen(found.dli_fname);
    snprintf(library, PX_LIBRARY, "%s", found.dli_fname + (n < PX_LIBRARY ? 0 : n - PX_LIBRARY + 1));
    return;
  }
}

// Threads that a fork does without, or that their library starts again in it, by a part of the library's path or the
// thread's name. TestPreload_Libraries tries each with the real library.
static const char *const safe_libraries[] = {
    "/libarrow.so", "/libiomp5.so", "/libomp", "/numexpr/interpreter.", "/ufunc/workqueue.", "/tokenizers/tokenizers.",
    "/cv2/cv2.",
};
static const char *const safe_names[] = {"jemalloc_bg_thd", "polars-ooc-clea"};

static bool survives_fork(int tid, const char *name, const char *library) {
  for (size_t i = 0; i < sizeof safe_names / sizeof *safe_names; i++)
    if (strcmp(name, safe_names[i]) == 0) return true;
  for (size_t i = 0; i < sizeof safe_libraries / sizeof *safe_libraries; i++)
    if (strstr(library, safe_libraries[i])) return true;
  for (int i = 0; i < threads.nsafe; i++)
    if (threads.safe[i] == tid) return true;
  return false;
}

static void find_foreign(void) {
  threads.n = 0;
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/task", (int)threads.self);  // not self: the caller may be a vfork of it
  DIR *dir = opendir(path);
  if (!dir) {  // unknown, so nothing is forked
    threads.found[0] = (struct px_foreign){.name = "no /proc"};
    threads.n = 1;
    return;
  }
  for (struct dirent *e; (e = readdir(dir)) && threads.n < MAX_FOREIGN;) {
    struct px_foreign *f = &threads.found[threads.n];
    int tid = atoi(e->d_name);
    if (tid <= 0 || tid == threads.self || !name_of(e->d_name, f->name) || strcmp(f->name, threads.go_name) == 0)
      continue;
    library_of(tid, f->library);
    if (survives_fork(tid, f->name, f->library)) continue;
    f->tid = tid;
    threads.n++;
  }
  closedir(dir);
}

void px_foreign_find(void) {
  if (!px_w.forking_worker || threads.self == 0) return;
  // A thread that was joined may be visible for a moment longer.
  for (int tries = 0; tries < 20; tries++) {
    find_foreign();
    if (threads.n == 0) return;
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
  }
}
