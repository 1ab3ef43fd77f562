// interpreter_scope.c makes the scope in which the model records its metrics.
#ifndef INTERPRETER_SCOPE_H
#define INTERPRETER_SCOPE_H

#include <stdbool.h>

#include "base_python.h"

// What it takes to make scopes of predictions. All functions: GIL held.
struct px_scopes {
  PyObject *make;  // scope(context)
  PyObject *variable;  // the context variable that holds the scope
  PyObject *values_name, *context_name;
  PyObject *unused;  // that is kept for the next prediction; NULL: none
  PyObject **running;  // points to the scope of the running prediction: px_w.scope or own
  PyObject *own;  // used instead of px_w.scope if other threads run predictions too
};

// px_scopes_load looks up handler.scope and handler.variable. 0, or -1 with an exception. The caller calls
// px_scopes_free in both cases.
int px_scopes_load(struct px_scopes *s, PyObject *handler);
void px_scopes_free(struct px_scopes *s);

// px_scope_enter makes a prediction's scope, and sets it in *entered, a copy of the context that setup left: context
// variables that the model sets are gone in the next prediction. context is what the client sent, or NULL. New
// reference, or NULL with an exception.
PyObject *px_scope_enter(struct px_scopes *s, PyObject *context, PyObject **entered);

// px_scope_leave undoes px_scope_enter and takes both references. It returns the model's metrics, a new reference, or
// NULL if there are none. An exception that is set stays set.
PyObject *px_scope_leave(struct px_scopes *s, bool observed, PyObject *scope, PyObject *entered);

// px_scope_run sets *running, such as px_w.scope, to the scope of the running prediction; NULL means that none runs.
// The caller keeps the scope alive until the next call. It returns scope.
PyObject *px_scope_run(PyObject **running, PyObject *scope);

// px_scope is _px.scope(): the scope of the prediction that runs on the main thread, or None. Any thread with the GIL;
// a new reference.
PyObject *px_scope(PyObject *self, PyObject *unused);

#endif
