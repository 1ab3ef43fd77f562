// Waits that return early in an interrupted thread.
//
// Python repeats a system call that a signal has ended, unless a handler of its own raises, which happens on the main
// thread only. So functions of glibc that wait are defined here again, as in process_threads.c. In the thread of a slot that
// is to be interrupted they return early, as after a timeout or without data, and Python then raises the exception with
// its next bytecode. That is for Python's own code: other libraries get what a signal always gives them.
#undef _FORTIFY_SOURCE  // its headers define some of these functions
#define _GNU_SOURCE  // dladdr
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <semaphore.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "interpreter_interrupt.h"
#include "process_next.h"

// is_python reports whether code at this address is Python's or its TLS library's.
static bool is_python(const void *caller) {
  static const char *const files[] = {"/libpython", "/lib-dynload/", "/libssl", "/libcrypto"};
  Dl_info at;
  if (!dladdr(caller, &at) || !at.dli_fname) return false;
  for (size_t i = 0; i < sizeof files / sizeof *files; i++)
    if (strstr(at.dli_fname, files[i])) return true;
  return false;
}

// RETURNS_EARLY reports whether a waiting call is to return early. It is a macro because it needs the caller's address.
#define RETURNS_EARLY() (px_interrupt_pending() && is_python(__builtin_return_address(0)))

// DEFINE_WAIT redefines a function. early is its result if it returns early; interrupted, if a signal has ended it.
#define DEFINE_WAIT(result, name, parameters, arguments, interrupted, early) \
  PX_VISIBLE result name parameters { \
    typedef result function parameters; \
    static void *_Atomic found; \
    function *next; \
    *(void **)&next = px_find_next(&found, #name); \
    if (!px_own_slot) return next arguments; \
    if (RETURNS_EARLY()) return early; \
    result done = next arguments; \
    return interrupted && RETURNS_EARLY() ? early : done; \
  }

#define FAILED (done == -1 && errno == EINTR)

static int fail(int error) {
  errno = error;
  return -1;
}

// clear_sets is what select returns after its timeout.
static int clear_sets(int n, fd_set *read, fd_set *write, fd_set *except) {
  fd_set *sets[] = {read, write, except};
  size_t size = ((size_t)n + 8 * sizeof(long) - 1) / (8 * sizeof(long)) * sizeof(long);
  for (int i = 0; i < 3; i++)
    if (sets[i]) memset(sets[i], 0, size);
  return 0;
}

DEFINE_WAIT(int, clock_nanosleep, (clockid_t clock, int flags, const struct timespec *time, struct timespec *left),
            (clock, flags, time, left), done == EINTR, 0)
DEFINE_WAIT(int, nanosleep, (const struct timespec *time, struct timespec *left), (time, left), FAILED, 0)
DEFINE_WAIT(int, poll, (struct pollfd * fds, nfds_t n, int timeout), (fds, n, timeout), FAILED, 0)
DEFINE_WAIT(int, epoll_wait, (int fd, struct epoll_event *events, int n, int timeout), (fd, events, n, timeout), FAILED,
            0)
DEFINE_WAIT(int, select, (int n, fd_set *read, fd_set *write, fd_set *except, struct timeval *timeout),
            (n, read, write, except, timeout), FAILED, clear_sets(n, read, write, except))
DEFINE_WAIT(int, sem_timedwait, (sem_t * sem, const struct timespec *until), (sem, until), FAILED, fail(ETIMEDOUT))
DEFINE_WAIT(int, sem_clockwait, (sem_t * sem, clockid_t clock, const struct timespec *until), (sem, clock, until),
            FAILED, fail(ETIMEDOUT))
DEFINE_WAIT(pid_t, waitpid, (pid_t pid, int *status, int options), (pid, status, options), FAILED, 0)
DEFINE_WAIT(pid_t, wait4, (pid_t pid, int *status, int options, struct rusage *usage), (pid, status, options, usage),
            FAILED, 0)
DEFINE_WAIT(ssize_t, recv, (int fd, void *data, size_t size, int flags), (fd, data, size, flags), FAILED, 0)
DEFINE_WAIT(ssize_t, recvfrom,
            (int fd, void *restrict data, size_t size, int flags, __SOCKADDR_ARG from, socklen_t *restrict length),
            (fd, data, size, flags, from, length), FAILED, 0)
DEFINE_WAIT(ssize_t, recvmsg, (int fd, struct msghdr *message, int flags), (fd, message, flags), FAILED,
            fail(ECANCELED))
DEFINE_WAIT(ssize_t, send, (int fd, const void *data, size_t size, int flags), (fd, data, size, flags), FAILED,
            fail(ECANCELED))
DEFINE_WAIT(int, accept, (int fd, __SOCKADDR_ARG from, socklen_t *restrict length), (fd, from, length), FAILED,
            fail(ECANCELED))
DEFINE_WAIT(int, accept4, (int fd, __SOCKADDR_ARG from, socklen_t *restrict length, int flags),
            (fd, from, length, flags), FAILED, fail(ECANCELED))
DEFINE_WAIT(int, connect, (int fd, __CONST_SOCKADDR_ARG to, socklen_t length), (fd, to, length), FAILED,
            fail(ECANCELED))

// is_file reports whether a descriptor is a regular file, whose reads do not wait for a peer.
static bool is_file(int fd) {
  struct stat s;
  return fstat(fd, &s) == 0 && S_ISREG(s.st_mode);
}

PX_VISIBLE ssize_t read(int fd, void *data, size_t size) {
  typedef ssize_t function(int, void *, size_t);
  static void *_Atomic found;
  function *next;
  *(void **)&next = px_find_next(&found, "read");
  if (!px_own_slot) return next(fd, data, size);
  if (RETURNS_EARLY() && !is_file(fd)) return 0;
  ssize_t done = next(fd, data, size);
  return FAILED && RETURNS_EARLY() ? 0 : done;
}
