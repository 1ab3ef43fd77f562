// interpreter_cancel.c handles the signal that cancels predictions.
#ifndef INTERPRETER_CANCEL_H
#define INTERPRETER_CANCEL_H

#include "base_python.h"

// px_cancel_forget drops the state of a cancel, because its prediction has ended. Callers may skip it if px_w.raised is
// NULL: what is left then does no harm. Main thread, GIL held; it may run Python code.
void px_cancel_forget(void);

extern PyMethodDef px_cancel_methods[];

#endif
