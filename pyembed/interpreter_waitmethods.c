// Methods of the standard library that wait, for threads that are to be interrupted: see interpreter_interrupt.h.
//
// A wait for a lock without a timeout cannot end early: Python's code does not handle that. So ours wait with a long
// timeout, in a loop. A socket whose wait ended early raises OSError or TimeoutError. Ours raise the exception of the
// interrupt instead, so that the model's code sees no other one.
#include "interpreter_waitmethods.h"

#include <string.h>

#include "interpreter_interrupt.h"
#include "interpreter_substitute.h"
#include "channel_worker.h"

#define PX_LIMIT 1000000.0  // seconds
#define PX_MOMENT 0.02

enum { MOST_METHODS = 24, MOST_ARGS = 6 };

// How a method waits; Python's side has the same numbers.
enum kind {
  OTHER,  // raises an exception if it ended early
  LOCK,  // for a lock: True if it is acquired
  QUEUE,  // for an item of a queue: raises an exception after its timeout
  JOIN,  // for the end of a thread
};

// A method that is replaced.
struct method {
  PyMethodDef definition;
  PyObject *original;
  enum kind kind;
};

static struct method methods[MOST_METHODS];

// waits_forever reports whether arguments set no timeout.
static bool waits_forever(PyObject *const *args, Py_ssize_t n) {
  bool forever = true;
  for (Py_ssize_t i = 0; forever && i < n; i++)
    forever =
        args[i] == Py_True || args[i] == Py_None || (Py_IS_TYPE(args[i], &PyLong_Type) && PyLong_AsLong(args[i]) == -1);
  PyErr_Clear();
  return forever;
}

// is_done tells whether the thread of a handle has ended; true also with an exception.
static bool is_done(PyObject *handle) {
  PyObject *done = PyObject_CallMethod(handle, "is_done", NULL);
  bool is = done != Py_False;
  Py_XDECREF(done);
  return is;
}

// join waits for the end of a thread, at most the given seconds; < 0: without a timeout. Python itself checks the time
// if such a wait ended early, so each wait is short.
static PyObject *join(struct method *m, PyObject *self, double seconds) {
  uint64_t began = px_now();
  for (;;) {
    double left = seconds < 0 ? PX_LIMIT : seconds - (double)(px_now() - began) / 1e9;
    PyObject *limit = PyFloat_FromDouble(left > PX_MOMENT ? PX_MOMENT : left < 0 ? 0 : left);
    PyObject *args[] = {self, limit};
    PyObject *result = limit ? PyObject_Vectorcall(m->original, args, 2, NULL) : NULL;
    Py_XDECREF(limit);
    if (!result || left <= PX_MOMENT || is_done(self) || px_interrupt_pending()) return result;
    Py_DECREF(result);
  }
}

// wait_limited waits without a timeout, in a loop of waits with one.
static PyObject *wait_limited(struct method *m, PyObject *self) {
  PyObject *limit = PyFloat_FromDouble(PX_LIMIT), *result = NULL;
  PyObject *args[] = {self, Py_True, limit};
  while (limit) {
    result = PyObject_Vectorcall(m->original, args, 3, NULL);
    bool got = result ? result != Py_False : m->kind != QUEUE || !PyErr_ExceptionMatches(PyExc_Exception);
    if (got || px_interrupt_pending()) break;
    Py_CLEAR(result);
    PyErr_Clear();
  }
  Py_XDECREF(limit);
  return result;
}

// call_original calls the method with the arguments of ours.
static PyObject *call_original(struct method *m, PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names) {
  PyObject *all[1 + MOST_ARGS] = {self};
  Py_ssize_t count = n + (names ? PyTuple_Size(names) : 0);
  if (count > MOST_ARGS) return PyErr_Format(PyExc_TypeError, "%s takes fewer arguments", m->definition.ml_name);
  if (count > 0) memcpy(all + 1, args, (size_t)count * sizeof *args);  // without arguments args may be NULL
  return PyObject_Vectorcall(m->original, all, (size_t)n + 1, names);
}

// wait_interruptible calls a method in the thread of a slot.
static PyObject *wait_interruptible(struct method *m, PyObject *self, PyObject *const *args, Py_ssize_t n,
                                    PyObject *names) {
  Py_ssize_t count = n + (names ? PyTuple_Size(names) : 0);
  bool forever = m->kind != OTHER && waits_forever(args, count);
  if (m->kind == JOIN && count <= 1) {
    double seconds = forever ? -1 : PyFloat_AsDouble(args[0]);
    return PyErr_Occurred() ? NULL : join(m, self, seconds);
  }
  return forever ? wait_limited(m, self) : call_original(m, self, args, n, names);
}

static PyObject *call(struct method *m, PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names) {
  if (!px_own_slot) return call_original(m, self, args, n, names);
  PyObject *result = wait_interruptible(m, self, args, n, names);
  bool early = !result || (m->kind == LOCK && result == Py_False) || m->kind == JOIN;
  if (!early || !px_interrupt_pending()) return result;
  Py_XDECREF(result);
  PyErr_Clear();
  px_interrupt_raise();
  return NULL;
}

// A function in C does not know by which definition it was called, so each place has one.
#define CALL(i) \
  static PyObject *call_##i(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names) { \
    return call(&methods[i], self, args, n, names); \
  }
// clang-format off
CALL(0) CALL(1) CALL(2) CALL(3) CALL(4) CALL(5) CALL(6) CALL(7) CALL(8) CALL(9) CALL(10) CALL(11)
CALL(12) CALL(13) CALL(14) CALL(15) CALL(16) CALL(17) CALL(18) CALL(19) CALL(20) CALL(21) CALL(22) CALL(23)
    // clang-format on

    typedef PyObject *fast(PyObject *, PyObject *const *, Py_ssize_t, PyObject *);
static fast *const calls[MOST_METHODS] = {call_0,  call_1,  call_2,  call_3,  call_4,  call_5,  call_6,  call_7,
                                          call_8,  call_9,  call_10, call_11, call_12, call_13, call_14, call_15,
                                          call_16, call_17, call_18, call_19, call_20, call_21, call_22, call_23};

// wait_method(type, name, original, kind) -> a method that looks like the original and can be interrupted.
static PyObject *wait_method(PX_SELF, PyObject *args) {
  PyTypeObject *type;
  const char *name;
  PyObject *original;
  int kind, at = 0;
  if (!PyArg_ParseTuple(args, "OsOi", &type, &name, &original, &kind)) return NULL;
  while (at < MOST_METHODS && methods[at].original) at++;
  if (at == MOST_METHODS) return PyErr_Format(PyExc_RuntimeError, "there is no room for another method");
  struct method *m = &methods[at];
  // They live as long as the process.
  m->definition = (PyMethodDef){.ml_name = strdup(name), .ml_flags = METH_FASTCALL | METH_KEYWORDS};
  m->definition.ml_doc = px_doc_of(original);
  m->definition.ml_meth = (PyCFunction)(void (*)(void))calls[at];
  m->kind = (enum kind)kind;
  if (!m->definition.ml_name || !m->definition.ml_doc) return PyErr_Occurred() ? NULL : PyErr_NoMemory();
  PyObject *made = PyDescr_NewMethod(type, &m->definition);
  if (made) m->original = Py_NewRef(original);
  return made;
}

// type_modified(type): its dict has changed.
static PyObject *type_modified(PX_SELF, PyObject *type) {
  PyType_Modified((PyTypeObject *)type);
  Py_RETURN_NONE;
}

PyMethodDef px_wait_methods[] = {
    {"wait_method", wait_method, METH_VARARGS, NULL},
    {"type_modified", type_modified, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
