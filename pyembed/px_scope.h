// px_scope.c makes the scope in which the model records its metrics.
#ifndef PX_SCOPE_H
#define PX_SCOPE_H

#include <stdbool.h>

#include "px_python.h"

// How the scopes of predictions are made. All functions: GIL held.
struct px_scopes {
  PyObject *make;  // scope(context)
  PyObject *variable;  // the context variable that holds the scope
  PyObject *values_name, *context_name;
  PyObject *unused;  // see px_scopereuse.c; NULL: none
  PyObject **running;  // where the scope of the running prediction is noted: px_w.scope
  PyObject *own;  // this place instead, if predictions of other threads run meanwhile
};

// px_scopes_load looks up handler.scope and handler.variable. 0, or -1 with an exception; px_scopes_free in both cases.
int px_scopes_load(struct px_scopes *s, PyObject *handler);
void px_scopes_free(struct px_scopes *s);

// px_scope_enter makes a prediction's scope, a new reference, and sets it in a copy of the context that setup left,
// *entered: context variables that the model sets do not stay for the next prediction. context: what the client sent,
// or NULL. NULL with an exception.
PyObject *px_scope_enter(struct px_scopes *s, PyObject *context, PyObject **entered);

// px_scope_leave undoes px_scope_enter and takes both references. The model's metrics, or NULL if it has recorded none.
// An exception that is set stays set.
PyObject *px_scope_leave(struct px_scopes *s, bool observed, PyObject *scope, PyObject *entered);

// px_scope_run notes in *running, which may be px_w.scope, the scope of the running prediction; NULL: none runs. The
// caller keeps it alive until it notes another one. It returns scope.
PyObject *px_scope_run(PyObject **running, PyObject *scope);

// px_scope is _px.scope(): the scope of the prediction that runs on the main thread, or None. Any thread with the GIL;
// a new reference.
PyObject *px_scope(PyObject *self, PyObject *unused);

#endif
