// The scope of the running prediction: what the model can read of it, and the metrics that the model records.
#include "interpreter_scope.h"

#include "channel_worker.h"

// A scope object that the model has not changed is used again: it is made in every prediction, by Python code, and most
// models never use it. Gain: 600 to 1200 of 11 000 to 13 000 instructions of an echo, on CPython 3.10 and 3.12
// (tests/instructions). To switch it off, let keep return false.

// keep takes over the reference to a scope, for the next prediction. It returns false if the scope is in use or another
// is kept.
static bool keep(struct px_scopes *s, PyObject *scope) {
  if (s->unused || !PyUnstable_Object_IsUniquelyReferenced(scope)) return false;
  s->unused = scope;
  return true;
}

// reuse returns the kept scope, and the reference to it, or NULL.
static PyObject *reuse(struct px_scopes *s) {
  PyObject *scope = s->unused;
  s->unused = NULL;
  return scope;
}

int px_scopes_load(struct px_scopes *s, PyObject *handler) {
  *s = (struct px_scopes){0};
  s->running = &px_w.scope;
  s->make = PyObject_GetAttrString(handler, "scope");
  s->variable = s->make ? PyObject_GetAttrString(handler, "variable") : NULL;
  s->values_name = s->variable ? PyUnicode_InternFromString("_values") : NULL;
  s->context_name = s->values_name ? PyUnicode_InternFromString("_context") : NULL;
  return s->context_name ? 0 : -1;
}

void px_scopes_free(struct px_scopes *s) {
  Py_XDECREF(s->make);
  Py_XDECREF(s->variable);
  Py_XDECREF(s->values_name);
  Py_XDECREF(s->context_name);
  Py_XDECREF(s->unused);
}

// open_context enters a copy of the context, with a scope in it. The copy, or NULL with an exception.
static PyObject *open_context(struct px_scopes *s, PyObject *scope) {
  PyObject *entered = PyContext_CopyCurrent();
  if (entered && PyContext_Enter(entered) == 0) {
    PyObject *token = PyContextVar_Set(s->variable, scope);
    if (token) {
      Py_DecRef(token);
      return entered;
    }
    PyContext_Exit(entered);
  }
  Py_XDECREF(entered);
  return NULL;
}

PyObject *px_scope_enter(struct px_scopes *s, PyObject *context, PyObject **entered) {
  PyObject *scope = reuse(s);
  if (!scope)
    scope = PyObject_CallFunctionObjArgs(s->make, context ? context : Py_None, NULL);
  else if (context && PyObject_SetAttr(scope, s->context_name, context) < 0)
    Py_CLEAR(scope);
  if (!scope) return NULL;
  *entered = open_context(s, scope);
  if (*entered) return px_scope_run(s->running, scope);
  Py_DecRef(scope);
  return NULL;
}

PyObject *px_scope_leave(struct px_scopes *s, bool observed, PyObject *scope, PyObject *entered) {
  PyObject *type, *value, *trace, *values, *context, *metrics = NULL;
  PyErr_Fetch(&type, &value, &trace);
  px_scope_run(s->running, NULL);
  if (PyContext_Exit(entered) < 0) PyErr_Clear();
  Py_DecRef(entered);
  values = PyObject_GetAttr(scope, s->values_name);
  context = values ? PyObject_GetAttr(scope, s->context_name) : NULL;
  if (values && values != Py_None) metrics = PyObject_CallMethod(scope, "collected", NULL);
  if (observed || values != Py_None || !context || !keep(s, scope))
    Py_DecRef(scope);
  else if (context != Py_None && PyObject_SetAttr(scope, s->context_name, Py_None) < 0)
    Py_DecRef(reuse(s));
  Py_XDECREF(values);
  Py_XDECREF(context);
  PyErr_Restore(type, value, trace);  // drops an error of this function
  return metrics;
}

PyObject *px_scope_run(PyObject **running, PyObject *scope) {
  px_guard();
  *running = scope;
  px_unguard();
  return scope;
}

PyObject *px_scope(PX_SELF, PX_NO_ARGS) {
  px_guard();
  PyObject *scope = Py_NewRef(px_w.scope ? px_w.scope : Py_None);
  px_unguard();
  return scope;
}
