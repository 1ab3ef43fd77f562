#define _GNU_SOURCE  // ppoll
#include "interpreter_interrupt.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "process_crash.h"
#include "interpreter_postpone.h"
#include "interpreter_swallowed.h"

// PX_WAKE ends a system call. Real-time signals are for applications, and libraries that use one take it from the other
// end.
#define PX_WAKE (SIGRTMAX - 9)

// A signal may come just before the system call that it should end, so it is sent again, at growing intervals.
#define PX_FIRST_WAKE 2  // ms
#define PX_LAST_WAKE 64

// Python raises the exception of PyThreadState_SetAsyncExc where it looks for it next, which may be a jump that is
// outside of its try block. So that is done only once the thread has run none of the code that px_postpone watches for
// this time, in ns.
#define PX_POSTPONE 15000000

static struct {
  int fd;  // an eventfd
  int timeout;  // ms of main's next wait for it; -1: without limit
  PyObject *type;  // of the exception; making one calls raised()
  PyObject *diverter;  // has a loop end the prediction: serve/diverter.py; NULL: not imported yet
  _Atomic int threads;  // that serve slots
} interrupts = {.fd = -1, .timeout = -1};

static void woken(int sig) { (void)sig; }

// init_wake makes the event with which main is woken, and the signal that ends waits. 0, or -1 with errno.
static int init_wake(void) {
  struct sigaction act = {.sa_handler = woken, .sa_flags = SA_ONSTACK};  // without SA_RESTART
  sigemptyset(&act.sa_mask);
  interrupts.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  return interrupts.fd < 0 ? -1 : sigaction(PX_WAKE, &act, NULL);
}

void px_interrupt_wake(void) {
  uint64_t one = 1;
  if (interrupts.fd >= 0 && write(interrupts.fd, &one, sizeof one) < 0) return;  // it is readable already
}

void px_thread_serves(struct px_channel *ch) {
  pthread_mutex_lock(&ch->interrupt_mu);
  ch->thread = pthread_self();
  pthread_mutex_unlock(&ch->interrupt_mu);
  px_own_slot = ch;
  px_crash_stack();
}

void px_thread_ended(struct px_channel *ch) {
  pthread_mutex_lock(&ch->interrupt_mu);
  ch->thread_ended = true;
  pthread_mutex_unlock(&ch->interrupt_mu);
  px_own_slot = NULL;
  px_interrupt_wake();
}

// forget takes back an exception that was not raised, and returns its type. The thread's own.
static PyObject *forget(struct px_channel *ch) {
  pthread_mutex_lock(&ch->interrupt_mu);
  PyObject *type = ch->raises ? ch->raises : interrupts.type;
  ch->raises = NULL;
  PyThreadState_SetAsyncExc((unsigned long)ch->thread, NULL);
  atomic_store(&ch->interrupted, false);
  pthread_mutex_unlock(&ch->interrupt_mu);
  return type;
}

int px_interrupt_allow(struct px_channel *ch, uint64_t id) {
  pthread_mutex_lock(&ch->interrupt_mu);
  ch->inside = id;
  bool canceled = px_is_canceled(ch->page, id);
  if (canceled) ch->cancel_taken = atomic_load(&ch->page->cancel);
  pthread_mutex_unlock(&ch->interrupt_mu);
  if (canceled) px_interrupt_raise();
  return canceled ? -1 : 0;
}

// set_raised notes the exception that was raised in the thread of a slot. It takes the reference; NULL: there is none.
static void set_raised(struct px_channel *ch, PyObject *raised) {
  pthread_mutex_lock(&ch->interrupt_mu);
  PyObject *before = ch->raised;
  ch->raised = raised;
  ch->raised_at = px_now();
  pthread_mutex_unlock(&ch->interrupt_mu);
  Py_XDECREF(before);
}

bool px_interrupt_forbid(struct px_channel *ch) {
  pthread_mutex_lock(&ch->interrupt_mu);
  ch->inside = 0;
  bool noted = ch->raised != NULL;
  pthread_mutex_unlock(&ch->interrupt_mu);
  if (noted) set_raised(ch, NULL);
  bool pending = atomic_load(&ch->interrupted);
  if (pending) forget(ch);
  return pending;
}

void px_interrupt_raise(void) {
  PyObject *type = forget(px_own_slot), *raised = PyObject_CallFunctionObjArgs(type, NULL);
  if (raised) PyErr_SetObject(type, raised);
  Py_XDECREF(raised);
}

int px_interrupt_check(void) {
  if (!px_interrupt_pending()) return PyErr_CheckSignals();
  px_interrupt_raise();
  return -1;
}

// raise_soon makes Python raise an exception in a slot's thread, unless ask_again does. Its type lives as long as the
// process. interrupt_mu is locked.
static void raise_soon(struct px_channel *ch, PyObject *type, bool postponed) {
  ch->raises = type;
  if (!postponed) PyThreadState_SetAsyncExc((unsigned long)ch->thread, type);
  atomic_store(&ch->interrupted, true);
}

bool px_interrupt_again(PyObject *dropped) {
  struct px_channel *ch = px_own_slot;
  if (!ch || !dropped || !PyType_IsSubtype(Py_TYPE(dropped), (PyTypeObject *)interrupts.type)) return false;
  pthread_mutex_lock(&ch->interrupt_mu);
  bool again = ch->inside != 0;
  if (again) raise_soon(ch, (PyObject *)Py_TYPE(dropped), false);
  pthread_mutex_unlock(&ch->interrupt_mu);
  return again;
}

// frame_of is what a thread runs, or NULL.
static PyObject *frame_of(pthread_t thread) {
  PyObject *current = PySys_GetObject("_current_frames");  // borrowed
  PyObject *frames = current ? PyObject_CallFunctionObjArgs(current, NULL) : NULL;
  PyObject *ident = PyLong_FromUnsignedLongLong((unsigned long long)thread);
  PyObject *frame = frames && ident ? PyDict_GetItemWithError(frames, ident) : NULL;
  Py_XNewRef(frame);
  Py_XDECREF(frames);
  Py_XDECREF(ident);
  PyErr_Clear();
  return frame;
}

// was_swallowed tells whether the exception is to be raised again for a prediction whose thread runs a frame. GIL held.
static bool was_swallowed(struct px_channel *ch, uint64_t id, PyObject *frame) {
  pthread_mutex_lock(&ch->interrupt_mu);
  PyObject *raised = atomic_load(&ch->interrupted) ? NULL : ch->raised;
  uint64_t at = ch->raised_at;
  bool early = px_now() - at < PX_SWALLOW_PAUSE;
  if (raised && !early) ch->raised = NULL;  // so that the one reference is this function's
  pthread_mutex_unlock(&ch->interrupt_mu);
  if (!raised || early) return false;
  bool swallowed = px_was_swallowed(raised, at, frame, ch->thread);
  pthread_mutex_lock(&ch->interrupt_mu);
  if (!swallowed && ch->inside == id && !ch->raised) {
    ch->raised = raised;
    raised = NULL;
  }
  pthread_mutex_unlock(&ch->interrupt_mu);
  Py_XDECREF(raised);
  return swallowed;
}

// divert makes the event loop that runs a frame end the prediction of its thread. It returns the type of exception to
// raise there, borrowed; NULL: the usual one. GIL held.
static PyObject *divert(PyObject *frame, uint64_t id) {
  if (!interrupts.diverter) {
    PyObject *module = PyImport_ImportModule("cog._worker.serve.diverter");
    interrupts.diverter = module ? PyObject_CallMethod(module, "Diverter", "O", interrupts.type) : NULL;
    Py_XDECREF(module);
  }
  PyObject *type = interrupts.diverter
                       ? PyObject_CallMethod(interrupts.diverter, "divert_thread", "OK", frame, (unsigned long long)id)
                       : NULL;
  PyErr_Clear();
  Py_XDECREF(type);  // the diverter has one
  return type == Py_None ? NULL : type;
}

// interrupt interrupts the prediction of a slot, if the front asked for its end. true: main is to look again soon. Many
// libraries cannot be imported again after an import that failed, so that is waited for. GIL held.
static bool interrupt(struct px_channel *ch) {
  uint64_t id = atomic_load(&ch->page->running), word = atomic_load(&ch->page->cancel);
  if (id == 0 || (word & ~PX_CANCEL_AGAIN) != id) return false;
  atomic_store(&ch->page->noticed, id);
  pthread_mutex_lock(&ch->interrupt_mu);
  bool inside = ch->inside == id, due = inside && ch->cancel_taken != word;
  bool waits = inside && !due && atomic_load(&ch->interrupted);  // for its thread
  bool look = due || waits || (inside && ch->raised);
  if (due) ch->due_at = px_now();
  bool early = px_now() - ch->due_at < PX_POSTPONE;
  pthread_mutex_unlock(&ch->interrupt_mu);
  PyObject *frame = look ? frame_of(ch->thread) : NULL;
  bool importing = frame && px_in_import(frame);
  bool again = look && !due && !waits && !importing && was_swallowed(ch, id, frame);
  PyObject *type = frame && !importing && (due || again) ? divert(frame, id) : NULL;
  bool postponed = (due || waits || again) && !importing && px_postpone(frame, early);
  Py_XDECREF(frame);
  if (importing && due) return true;
  pthread_mutex_lock(&ch->interrupt_mu);
  if (ch->inside == id && (ch->cancel_taken != word || again)) {
    ch->cancel_taken = word;
    raise_soon(ch, type ? type : interrupts.type, postponed);
  } else if (ch->inside == id && waits && !postponed && atomic_load(&ch->interrupted)) {
    raise_soon(ch, ch->raises ? ch->raises : interrupts.type, false);
  }
  bool pending = ch->inside == id && atomic_load(&ch->interrupted);
  if (pending) pthread_kill(ch->thread, PX_WAKE);
  pthread_mutex_unlock(&ch->interrupt_mu);
  return pending;
}

// is_over tells whether a slot's thread has ended, or is not waited for: the front has given its prediction up.
static bool is_over(struct px_channel *ch) {
  uint64_t given_up = atomic_load(&ch->page->given_up);
  pthread_mutex_lock(&ch->interrupt_mu);
  bool ended = ch->thread_ended;
  pthread_mutex_unlock(&ch->interrupt_mu);
  return ended || (given_up != 0 && given_up == atomic_load(&ch->page->running));
}

// await waits for a wake-up, at most so many milliseconds; < 0: without limit. Signals of the model are handled. GIL
// held.
static void await(int timeout) {
  struct pollfd one = {interrupts.fd, POLLIN, 0};
  uint64_t count;
  PyThreadState *state = PyEval_SaveThread();
  struct timespec limit = {timeout / 1000, timeout % 1000 * 1000000L};
  int n = ppoll(&one, 1, timeout < 0 ? NULL : &limit, NULL);
  if (n > 0 && read(interrupts.fd, &count, sizeof count) < 0) n = 0;
  PyEval_RestoreThread(state);
  if (PyErr_CheckSignals() < 0) PyErr_WriteUnraisable(Py_None);  // the model's own handler raised
}

// interrupts(slots, tick) -> bool: waits for what wakes main, at most so many milliseconds if tick > 0, and interrupts
// predictions. It returns whether the threads of so many slots have ended.
static PyObject *run(PX_SELF, PyObject *args) {
  int slots, tick, *timeout = &interrupts.timeout;
  if (!PyArg_ParseTuple(args, "ii", &slots, &tick)) return NULL;
  await(*timeout < 0 && tick > 0 ? tick : *timeout);
  bool soon = false, over = true;
  for (int i = 0; i < slots; i++) {
    soon |= interrupt(px_w.slots[i]);
    over &= is_over(px_w.slots[i]);
  }
  if (!soon) px_postpone_end();
  *timeout = !soon ? -1 : *timeout < 0 ? PX_FIRST_WAKE : *timeout < PX_LAST_WAKE ? *timeout * 2 : PX_LAST_WAKE;
  return PyBool_FromLong(over);
}

// raised(exception): the exception exists, and from now on the thread's waits take as long as they want. It may be
// cleaning up.
static PyObject *note_raised(PX_SELF, PyObject *exception) {
  if (!px_own_slot) Py_RETURN_NONE;
  set_raised(px_own_slot, Py_NewRef(exception));
  atomic_store(&px_own_slot->interrupted, false);
  Py_RETURN_NONE;
}

// running() -> int: the prediction that this thread serves, or 0.
static PyObject *running(PX_SELF, PX_NO_ARGS) {
  return PyLong_FromUnsignedLongLong(px_own_slot ? atomic_load(&px_own_slot->page->running) : 0);
}

// set_interrupt_type(type): the exception, of a type that calls raised().
static PyObject *set_type(PX_SELF, PyObject *type) {
  interrupts.type = Py_NewRef(type);
  if (init_wake() < 0) return PyErr_SetFromErrno(PyExc_OSError);
  Py_RETURN_NONE;
}

PyMethodDef px_interrupt_methods[] = {
    {"interrupts", run, METH_VARARGS, NULL},
    {"raised", note_raised, METH_O, NULL},
    {"running", running, METH_NOARGS, NULL},
    {"set_interrupt_type", set_type, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
