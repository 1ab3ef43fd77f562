// What must not survive a fork, and what Go must not keep of the signals.
#define _GNU_SOURCE  // dladdr
#include "px_worker.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static void set_default(int sig) {
  struct sigaction act = {.sa_handler = SIG_DFL};
  sigemptyset(&act.sa_mask);
  sigaction(sig, &act, NULL);
}

void px_signals_default(void) {
  for (int sig = 1; sig < 32; sig++) {
    if (sig == SIGKILL || sig == SIGSTOP) continue;
    if (sig == SIGURG || sig == SIGPIPE || sig == SIGPROF) continue;  // Go's preemption; Python ignores PIPE
    set_default(sig);
  }
}

// ours tells whether a handler lies in libpython or a library that the model
// loaded; the rest is Go's, and waits for goroutines that no child has.
static bool ours(void (*handler)(int)) {
  Dl_info at, self;
  if (!dladdr((void *)(uintptr_t)handler, &at) || !at.dli_fbase) return false;
  if (!dladdr((void *)(uintptr_t)px_fork_hook, &self)) return true;
  return at.dli_fbase != self.dli_fbase;
}

static void drop(int *fd) {
  close(*fd);
  *fd = -1;
}

// abandon makes a channel one that nobody listens to. Its mutex is made anew:
// a thread that the child has not may have held it at the fork.
static void abandon(struct px_channel *ch) {
  drop(&ch->fd);
  pthread_mutex_init(&ch->mu, NULL);
  ch->broken = true;
}

// A stray's fork gives its child these streams. Of this thread, from before the fork on.
static __thread int nobodys[2];
static __thread bool decided;

void px_fork_to(const int streams[2]) {
  memcpy(nobodys, streams, sizeof nobodys);
  decided = true;
}

static void before(void) {
  if (!decided) px_pipes_before_child(nobodys, false);
  decided = false;
}

static void before_in_template(void) {
  px_template_look();
  before();  // of a worker that was forked from it
}

static void in_child(void) {
  if (!px_w.begetting && !atomic_load(&px_w.is_child))
    for (int i = 0; i < 2; i++)
      if (nobodys[i] >= 0 && px_w.page) dup2(nobodys[i], 1 + i);
  // Once: when the child forks in its turn, our numbers may be files of its own.
  if (!px_w.begetting && !atomic_exchange(&px_w.is_child, true)) {
    pthread_mutex_init(&px_w.mu, NULL);
    pthread_mutex_init(&px_w.log_mu, NULL);
    pthread_mutex_init(&px_w.timer_mu, NULL);
    abandon(&px_w.control);
    if (px_w.page) {  // else it is a template's, which has nothing else
      drop(&px_w.timer);
      for (int i = 0; i < px_w.nslots; i++) abandon(px_w.slots[i]);
      for (int i = 0; i < 2; i++) {
        drop(&px_w.log_fd[i]);
        if (px_w.own_fd[i] > 0) drop(&px_w.own_fd[i]);
        if (px_w.nobodys[i] > 0) drop(&px_w.nobodys[i]);
      }
    }
  }
  for (int sig = 1; sig < NSIG; sig++) {
    struct sigaction act;
    if (sigaction(sig, NULL, &act) < 0) continue;
    if (act.sa_handler == SIG_DFL || act.sa_handler == SIG_IGN) continue;
    if (!ours(act.sa_handler)) set_default(sig);
  }
}

int px_fork_hook(bool template) {
  return pthread_atfork(template ? before_in_template : before, NULL, in_child) == 0 ? 0 : -1;
}

// exit_status is what Python exits with when the exception that is set ends it, and tells the user what Python tells.
static int exit_status(void) {
  if (!PyErr_ExceptionMatches(PyExc_SystemExit)) {
    PyErr_Print();
    return 1;
  }
  PyObject *raised = px_raised();
  PyObject *code = raised ? PyObject_GetAttrString(raised, "code") : NULL;
  if (code == Py_None) return 0;
  if (code && PyType_IsSubtype(code->ob_type, &PyLong_Type)) return (int)PyLong_AsLong(code);
  PyObject *stream = PySys_GetObject("stderr");
  PyObject *text = code ? PyObject_Str(code) : NULL;
  if (text && stream && PyObject_CallMethod(stream, "write", "O", text)) PyObject_CallMethod(stream, "write", "s", "\n");
  return 1;
}

void px_leave_child(void) {
  int status = PyErr_Occurred() ? exit_status() : 0;
  PyErr_Clear();
  px_flush_stdio();
  _exit(status);
}
