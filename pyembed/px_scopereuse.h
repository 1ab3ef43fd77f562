// px_scopereuse.c keeps a scope for the next prediction.
#ifndef PX_SCOPEREUSE_H
#define PX_SCOPEREUSE_H

#include <stdbool.h>

#include "px_python.h"
#include "px_scope.h"

// px_scope_keep takes over the reference to an unchanged scope, for the next prediction. It returns false if the scope
// is in use or another is kept. px_scope_reuse returns the kept scope, and the reference to it, or NULL. GIL held.
bool px_scope_keep(struct px_scopes *s, PyObject *scope);
PyObject *px_scope_reuse(struct px_scopes *s);

#endif
