// Waiters: a thread waits for one without the GIL, and many are woken at once without it.
//
// Python's own locks are released one by one with the GIL held. Each thread that wakes then waits for the GIL, which
// costs it a second switch, and the threads of a batched method wake up at each step: see
// docs/explanation/performance.md.
#define _GNU_SOURCE
#include "interpreter_waiter.h"

#include <errno.h>
#include <linux/futex.h>
#include <math.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "channel_busypoll.h"
#include "interpreter_interrupt.h"
#include "channel_worker.h"

#define PX_FEW 64  // waiters that need no allocation
#define PX_LONGEST 1e9  // s; a longer wait has no limit

// The states of a waiter. It keeps one wake-up until a thread waits.
enum { CALM, WOKEN, WAITED_FOR };

struct waiter {  // behind the head of an object
  _Atomic uint32_t state;
};

static PyTypeObject *type;

static long futex(struct waiter *w, int operation, uint32_t value, const struct timespec *limit) {
  return syscall(SYS_futex, &w->state, operation | FUTEX_PRIVATE_FLAG, value, limit, NULL, FUTEX_BITSET_MATCH_ANY);
}

static void wake(struct waiter *w) {
  if (atomic_exchange(&w->state, WOKEN) == WAITED_FOR) futex(w, FUTEX_WAKE, 1, NULL);
}

// await waits until a time of the monotonic clock; NULL: without limit. false: it has passed, or this thread is
// interrupted.
static bool await(struct waiter *w, const struct timespec *until) {
  uint32_t after = CALM;
  for (;;) {
    uint32_t seen = WOKEN;
    if (atomic_compare_exchange_strong(&w->state, &seen, after)) return true;
    if (seen == CALM && !atomic_compare_exchange_strong(&w->state, &seen, WAITED_FOR)) continue;
    if (px_interrupt_pending()) return false;
    if (futex(w, FUTEX_WAIT_BITSET, WAITED_FOR, until) < 0 && errno == ETIMEDOUT) return false;
    after = WAITED_FOR;  // another thread may wait as well
  }
}

static struct waiter *waiter_of(PyObject *o) {
  if (Py_TYPE(o) == type) return cpy3_body(o);
  PyErr_SetString(PyExc_TypeError, "not a waiter");
  return NULL;
}

// The waiters that a thread is to wake: those of a list, which does not change meanwhile.
struct wakes {
  struct waiter *few[PX_FEW], **all;
  Py_ssize_t size;
};

static void wakes_free(struct wakes *of) {
  if (of->all != of->few) px_free(of->all);
}

// wakes_of collects the waiters of a list. 0, or -1 with an exception.
static int wakes_of(struct wakes *to, PyObject *list) {
  to->size = PyList_Size(list);
  to->all = to->size > PX_FEW ? px_malloc((size_t)to->size * sizeof *to->all) : to->few;
  if (!to->all) PyErr_NoMemory();
  for (Py_ssize_t i = 0; to->all && i < to->size; i++)
    if (!(to->all[i] = waiter_of(PyList_GetItem(list, i)))) to->size = -1;
  if (to->all && to->size >= 0) return 0;
  wakes_free(to);
  return -1;
}

static void wake_all(const struct wakes *of) {
  for (Py_ssize_t i = 0; i < of->size; i++) wake(of->all[i]);
}

// wake(list): wakes a thread for each of the waiters.
static PyObject *px_wake(PX_SELF, PyObject *list) {
  struct wakes wakes;
  if (wakes_of(&wakes, list) < 0) return NULL;
  PyThreadState *state = PyEval_SaveThread();
  wake_all(&wakes);
  PyEval_RestoreThread(state);
  wakes_free(&wakes);
  Py_RETURN_NONE;
}

// deadline_in returns the time after the given seconds, by the monotonic clock.
static struct timespec deadline_in(double seconds) {
  uint64_t at = px_now() + (seconds > 0 ? (uint64_t)(seconds * 1e9) : 0);
  return (struct timespec){(time_t)(at / 1000000000), (long)(at % 1000000000)};
}

// wait(waiter, seconds, list) -> bool: wakes a thread for each waiter of the list, then waits for the first one;
// seconds None: without limit. False: the time has passed.
static PyObject *wait_for(PX_SELF, PyObject *const *args, Py_ssize_t n) {
  if (n != 3) return PyErr_Format(PyExc_TypeError, "wait takes 3 arguments");
  struct waiter *w = waiter_of(args[0]);
  double seconds = args[1] == Py_None ? INFINITY : PyFloat_AsDouble(args[1]);
  struct wakes wakes;
  if (!w || PyErr_Occurred() || wakes_of(&wakes, args[2]) < 0) return NULL;
  struct timespec until = seconds < PX_LONGEST ? deadline_in(seconds) : (struct timespec){0};
  PyThreadState *state = PyEval_SaveThread();
  wake_all(&wakes);
  bool woken = await(w, seconds < PX_LONGEST ? &until : NULL);
  PyEval_RestoreThread(state);
  wakes_free(&wakes);
  if (woken || !px_interrupt_pending()) return PyBool_FromLong(woken);
  px_interrupt_raise();
  return NULL;
}

// waiter(): makes a waiter.
static PyObject *new_waiter(PX_SELF, PX_NO_ARGS) { return PyType_GenericAlloc(type, 0); }

int px_waiter_load(void) {
  PyType_Slot slots[] = {{0, NULL}};
  PyType_Spec spec = {"_px.Waiter", (int)(px_py->head_size + sizeof(struct waiter)), 0, Py_TPFLAGS_DEFAULT, slots};
  type = (PyTypeObject *)PyType_FromSpec(&spec);
  return type ? 0 : -1;
}

PyMethodDef px_waiter_methods[] = {
    {"waiter", new_waiter, METH_NOARGS, NULL},
    {"wake", px_wake, METH_O, NULL},
    {"wait", (PyCFunction)(void (*)(void))wait_for, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};
