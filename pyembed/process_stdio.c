// The text that leftover threads write through C's stdio.
//
// glibc's stdio calls its own write, which process_threads.c cannot define again, and a stream's buffer has the text of all
// threads. So the functions that put text into stdout and stderr are defined here again: in a thread that its
// prediction left behind they take a stream for unattributed text. C++ streams call these functions too, unless they
// are not synchronised with C's: then they call write. What writes wide characters is not covered.
#undef _FORTIFY_SOURCE  // its headers define some of these functions
#define _GNU_SOURCE  // RTLD_NEXT
#ifndef __NO_INLINE__
#define __NO_INLINE__ 1  // optimised, its headers define more of them inline, and clang refuses a second definition
#endif
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "process_next.h"
#include "process_threads.h"
#include "channel_worker.h"

#undef putc
#undef putchar
#undef fputc_unlocked
#undef putchar_unlocked
#undef fwrite_unlocked
#undef fputs_unlocked

// unattributed_streams are the streams for stdout and stderr. They have no buffer, and are never closed.
static FILE *unattributed_streams[2];
static pthread_mutex_t streams_mu = PTHREAD_MUTEX_INITIALIZER;

// unattributed_stream returns the stream for a descriptor that px_threads_begin_write gave, or NULL.
static FILE *unattributed_stream(int stream, int fd) {
  pthread_mutex_lock(&streams_mu);
  FILE *f = unattributed_streams[stream];
  if (!f && (f = fdopen(fd, "w")) != NULL) {
    setvbuf(f, NULL, _IONBF, 0);
    unattributed_streams[stream] = f;
  }
  pthread_mutex_unlock(&streams_mu);
  return f;
}

// A call that writes to a stream.
struct call {
  struct px_write write;
  int cancel_state;
};

// begin_call begins a call that writes to *f, and changes *f in a leftover thread.
static void begin_call(struct call *c, FILE **f) {
  int error = errno;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &c->cancel_state);  // a canceled thread would stay counted
  c->write = (struct px_write){.stream = -1};
  int fd = *f == stdout || *f == stderr ? fileno(*f) : -1;
  if (fd >= 0) px_threads_begin_write(&c->write, fd);
  if (c->write.stream >= 0 && c->write.fd != fd) {
    FILE *other = unattributed_stream(c->write.stream, c->write.fd);
    if (other) *f = other;
  }
  errno = error;
}

static void end_call(const struct call *c) {
  int error = errno;
  px_threads_end_write(&c->write);
  pthread_setcancelstate(c->cancel_state, NULL);
  errno = error;
}

// DEFINE_AGAIN defines a function with a parameter FILE *f.
#define DEFINE_AGAIN(result, name, parameters, arguments) \
  PX_VISIBLE result name parameters { \
    typedef result function parameters; \
    static void *_Atomic found; \
    function *next; \
    *(void **)&next = px_find_next(&found, #name); \
    if (!px_thread_has_owner()) return next arguments; \
    struct call c; \
    begin_call(&c, &f); \
    result done = next arguments; \
    end_call(&c); \
    return done; \
  }

int __vfprintf_chk(FILE *f, int flag, const char *format, va_list values);  // what the fortified headers call

DEFINE_AGAIN(int, fputs, (const char *text, FILE *f), (text, f))
DEFINE_AGAIN(int, fputs_unlocked, (const char *text, FILE *f), (text, f))
DEFINE_AGAIN(int, fputc, (int c_, FILE *f), (c_, f))
DEFINE_AGAIN(int, fputc_unlocked, (int c_, FILE *f), (c_, f))
DEFINE_AGAIN(int, putc, (int c_, FILE *f), (c_, f))
DEFINE_AGAIN(size_t, fwrite, (const void *data, size_t size, size_t n, FILE *f), (data, size, n, f))
DEFINE_AGAIN(size_t, fwrite_unlocked, (const void *data, size_t size, size_t n, FILE *f), (data, size, n, f))
DEFINE_AGAIN(int, vfprintf, (FILE * f, const char *format, va_list values), (f, format, values))
DEFINE_AGAIN(int, __vfprintf_chk, (FILE * f, int flag, const char *format, va_list values), (f, flag, format, values))

// The others are those for a stream that they do not name, or with their own arguments.

#define FORMAT(f, format) \
  va_list values; \
  va_start(values, format); \
  int done = vfprintf(f, format, values); \
  va_end(values); \
  return done

#define FORMAT_CHECKED(f, flag, format) \
  va_list values; \
  va_start(values, format); \
  int done = __vfprintf_chk(f, flag, format, values); \
  va_end(values); \
  return done

PX_VISIBLE int fprintf(FILE *f, const char *format, ...) { FORMAT(f, format); }
PX_VISIBLE int printf(const char *format, ...) { FORMAT(stdout, format); }
PX_VISIBLE int vprintf(const char *format, va_list values) { return vfprintf(stdout, format, values); }
PX_VISIBLE int __fprintf_chk(FILE *f, int flag, const char *format, ...) { FORMAT_CHECKED(f, flag, format); }
PX_VISIBLE int __printf_chk(int flag, const char *format, ...) { FORMAT_CHECKED(stdout, flag, format); }
PX_VISIBLE int __vprintf_chk(int flag, const char *format, va_list values) {
  return __vfprintf_chk(stdout, flag, format, values);
}
PX_VISIBLE int putchar(int c) { return putc(c, stdout); }
PX_VISIBLE int putchar_unlocked(int c) { return fputc_unlocked(c, stdout); }

PX_VISIBLE int puts(const char *text) {
  typedef int function(const char *);
  static void *_Atomic found;
  function *next;
  *(void **)&next = px_find_next(&found, "puts");
  return px_thread_has_owner() ? fprintf(stdout, "%s\n", text) : next(text);
}

PX_VISIBLE void perror(const char *text) {
  const char *cause = strerror(errno);
  if (text && *text)
    fprintf(stderr, "%s: %s\n", text, cause);
  else
    fprintf(stderr, "%s\n", cause);
}
