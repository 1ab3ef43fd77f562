#include "interpreter_exit.h"

#include <unistd.h>

#include "interpreter_logs.h"
#include "base_python.h"

// exit_status prints the exception that is set as Python does, and returns the status that Python would exit with.
static int exit_status(void) {
  if (!PyErr_ExceptionMatches(PyExc_SystemExit)) {
    PyErr_Print();
    return 1;
  }
  PyObject *raised = px_raised();
  PyObject *code = raised ? PyObject_GetAttrString(raised, "code") : NULL;
  if (code == Py_None) return 0;
  if (code && PyLong_Check(code)) return (int)PyLong_AsLong(code);
  PyObject *stream = PySys_GetObject("stderr");
  PyObject *text = code ? PyObject_Str(code) : NULL;
  if (text && stream && PyObject_CallMethod(stream, "write", "O", text))
    PyObject_CallMethod(stream, "write", "s", "\n");
  return 1;
}

void px_exit_child(void) {
  int status = PyErr_Occurred() ? exit_status() : 0;
  PyErr_Clear();
  px_flush_stdio();
  _exit(status);
}
