// px_scopereuse.c keeps a scope for the next prediction.
#ifndef PX_SCOPEREUSE_H
#define PX_SCOPEREUSE_H

#include <stdbool.h>

#include "px_python.h"
#include "px_scope.h"

// px_scope_keep takes over a scope without attributes for the next prediction; false: it is in use, or one is kept
// already. px_scope_reuse returns the kept scope, or NULL. See px_scopereuse.c.
bool px_scope_keep(struct px_scopes *s, PyObject *scope);
PyObject *px_scope_reuse(struct px_scopes *s);

#endif
