// Functions that replace those of libtsan in a worker that is compiled for ThreadSanitizer.
//
// libtsan keeps a signal until the next call that it intercepts, so a cancel would not interrupt Python's code, nor
// clock_nanosleep. Only SIGUSR1 comes at once: its handler is Python's, which is not compiled for ThreadSanitizer.
#define _GNU_SOURCE
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PREEMPTS __attribute__((visibility("default"), no_sanitize("thread")))

int __sigaction(int number, const struct sigaction *act, struct sigaction *before);              // glibc's
int __interceptor_sigaction(int number, const struct sigaction *act, struct sigaction *before);  // libtsan's

PREEMPTS int sigaction(int number, const struct sigaction *act, struct sigaction *before) {
  return (number == SIGUSR1 ? __sigaction : __interceptor_sigaction)(number, act, before);
}

// libtsan reports an exit from a handler of fork, because that is inside its own fork. The linker calls this function
// in place of px_find_next (--wrap).
void *__wrap_px_find_next(void *_Atomic *found, const char *name);
void *__real_px_find_next(void *_Atomic *found, const char *name);

static _Noreturn void exit_group(int status) {
  for (;;) syscall(SYS_exit_group, status);
}

void *__wrap_px_find_next(void *_Atomic *found, const char *name) {
  return strcmp(name, "_exit") == 0 ? (void *)exit_group : __real_px_find_next(found, name);
}
