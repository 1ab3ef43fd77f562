#include "interpreter_postpone.h"

static bool armed;  // of main: some code is watched

// call calls a function of serve/postponed.py. It takes args, and returns whether the answer is True.
static bool call(const char *name, PyObject *args) {
  PyObject *module = args ? PyImport_ImportModule("cog._worker.serve.postponed") : NULL;
  PyObject *function = module ? PyObject_GetAttrString(module, name) : NULL;
  PyObject *answer = function ? PyObject_Call(function, args, NULL) : NULL;
  bool is = answer == Py_True;
  PyErr_Clear();
  Py_XDECREF(answer);
  Py_XDECREF(function);
  Py_XDECREF(module);
  Py_XDECREF(args);
  return is;
}

bool px_postpone(PyObject *frame, bool anywhere) {
  if (!frame || frame == Py_None) return false;
  bool postponed = call("postpone", PyTuple_Pack(2, frame, anywhere ? Py_True : Py_False));
  armed |= postponed;
  return postponed;
}

void px_postpone_end(void) {
  if (armed) call("end", PyTuple_New(0));
  armed = false;
}
