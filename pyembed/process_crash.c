// Which slot's thread has crashed the worker: the front tells its prediction why, and the others that it was another.
//
// The handlers here run before those that are there, Python's fault handler among them, and then call them.
#include "process_crash.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process_next.h"
#include "channel_worker.h"

#define PX_STACK ((size_t)64 << 10)  // of a handler, where the thread's own is used up

static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

enum { COUNT = sizeof signals / sizeof *signals };

static struct sigaction before[COUNT];

// The slot and the prediction that started this thread of the model, if any.
static __thread struct px_channel *started_by;
static __thread uint64_t started_for;

uint64_t px_crash_owner(struct px_channel **slot) {
  *slot = px_own_slot ? px_own_slot : started_by;
  if (!*slot) return 0;
  return px_own_slot ? atomic_load(&px_own_slot->page->running) : started_for;
}

void px_crash_own(struct px_channel *slot, uint64_t id) {
  started_by = slot;
  started_for = id;
}

// note notes the slot to which this thread belongs. Async-signal-safe.
static void note(void) {
  struct px_channel *ch;
  uint64_t id = px_crash_owner(&ch);
  if (atomic_load(&px_w.is_child) || id == 0 || id != atomic_load(&ch->page->running)) return;
  uint64_t none = 0;
  atomic_compare_exchange_strong(&px_w.page->crashed, &none, (uint64_t)(ch->page - px_w.page->slots) + 1);
}

static void crashed(int sig, siginfo_t *info, void *context) {
  note();
  for (int i = 0; i < COUNT; i++) {
    if (signals[i] != sig) continue;
    const struct sigaction *b = &before[i];
    sigaction(sig, b, NULL);
    if (b->sa_flags & SA_SIGINFO)
      b->sa_sigaction(sig, info, context);
    else if (b->sa_handler == SIG_DFL)
      raise(sig);
    else if (b->sa_handler != SIG_IGN)
      b->sa_handler(sig);
  }
}

PX_VISIBLE _Noreturn void _exit(int status) {
  typedef void function(int);
  static void *_Atomic found;
  function *next;
  note();
  *(void **)&next = px_find_next(&found, "_exit");
  next(status);
  __builtin_unreachable();
}

void px_crash_stack(void) {
  stack_t stack = {.ss_size = PX_STACK};
  stack.ss_sp = malloc(PX_STACK);  // as long as the thread: it ends with the process
  if (stack.ss_sp) sigaltstack(&stack, NULL);
}

// follow_crashes(): notes from now on which slot's thread crashes the worker.
static PyObject *follow(PX_SELF, PX_NO_ARGS) {
  for (int i = 0; i < COUNT; i++) {
    struct sigaction act = {.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    act.sa_sigaction = crashed;
    sigemptyset(&act.sa_mask);
    sigaction(signals[i], &act, &before[i]);
  }
  atexit(note);  // exit() of a library, on the thread that calls it
  Py_RETURN_NONE;
}

PyMethodDef px_crash_methods[] = {
    {"follow_crashes", follow, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
