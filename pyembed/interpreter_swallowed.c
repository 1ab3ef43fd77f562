// Python's frames, and whether the exception of a cancel was swallowed.
#include "interpreter_swallowed.h"

#include <string.h>

#include "channel_worker.h"

PyObject *px_attribute(PyObject *o, const char *name) {
  PyObject *value = o && o != Py_None ? PyObject_GetAttrString(o, name) : NULL;
  PyErr_Clear();
  return value;
}

// step goes from a frame to its caller. It takes the reference and returns one; NULL: there is none.
static PyObject *step(PyObject *frame) {
  PyObject *back = px_attribute(frame, "f_back");
  Py_DecRef(frame);
  if (back != Py_None) return back;
  Py_DecRef(back);
  return NULL;
}

static bool is_import(PyObject *frame) {
  static const char machinery[] = "<frozen importlib._bootstrap";
  PyObject *code = px_attribute(frame, "f_code"), *file = px_attribute(code, "co_filename");
  const char *name = file ? PyUnicode_AsUTF8AndSize(file, NULL) : NULL;
  bool is = name && strncmp(name, machinery, sizeof machinery - 1) == 0;
  PyErr_Clear();
  Py_XDECREF(code);
  Py_XDECREF(file);
  return is;
}

bool px_in_import(PyObject *frame) {
  bool found = false;
  PyObject *f = frame && frame != Py_None ? Py_NewRef(frame) : NULL;
  for (; f && !found; f = step(f)) found = is_import(f);
  Py_XDECREF(f);
  return found;
}

static bool is_running(PyObject *wanted, PyObject *frame) {
  bool found = false;
  PyObject *f = frame && frame != Py_None ? Py_NewRef(frame) : NULL;
  for (; f && !found; f = step(f)) found = f == wanted;
  Py_XDECREF(f);
  return found;
}

// dropped_in_c tells whether C code has dropped an exception that nothing refers to any more: the outermost frame that
// it reached has ended where it was raised.
static bool dropped_in_c(PyObject *raised, PyObject *frame) {
  PyObject *trace = px_attribute(raised, "__traceback__"), *outermost = px_attribute(trace, "tb_frame");
  PyObject *raised_at = px_attribute(trace, "tb_lasti"), *ended_at = px_attribute(outermost, "f_lasti");
  long at = raised_at ? PyLong_AsLong(raised_at) : 0, ended = ended_at ? PyLong_AsLong(ended_at) : 1;
  bool same = at == ended || (at < 0 && ended < 0);  // before its first instruction
  bool dropped = trace == Py_None || (same && !is_running(outermost, frame));
  PyErr_Clear();
  Py_XDECREF(trace);
  Py_XDECREF(outermost);
  Py_XDECREF(raised_at);
  Py_XDECREF(ended_at);
  return dropped;
}

// swallowed_in_python asks swallowed.py. If that raises an exception, the answer is false.
static bool swallowed_in_python(PyObject *raised, uint64_t age, PyObject *frame, pthread_t thread, bool referred) {
  PyObject *module = PyImport_ImportModule("cog._worker.serve.swallowed");
  PyObject *answer =
      module ? PyObject_CallMethod(module, "is_swallowed", "OOKOK", raised, frame ? frame : Py_None,
                                   (unsigned long long)thread, referred ? Py_True : Py_False, (unsigned long long)age)
             : NULL;
  bool swallowed = answer == Py_True;
  PyErr_Clear();
  Py_XDECREF(answer);
  Py_XDECREF(module);
  return swallowed;
}

bool px_was_swallowed(PyObject *raised, uint64_t at, PyObject *frame, pthread_t thread) {
  uint64_t age = px_now() - at;
  bool referred = !PyUnstable_Object_IsUniquelyReferenced(raised);
  if (!referred && dropped_in_c(raised, frame)) return true;
  return age >= PX_SWALLOW_PAUSE && swallowed_in_python(raised, age, frame, thread, referred);
}
