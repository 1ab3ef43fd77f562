// px_cancel.c handles the signal that cancels predictions.
#ifndef PX_CANCEL_H
#define PX_CANCEL_H

#include <stdbool.h>

#include "px_python.h"

// px_cancel_forget drops the state of a cancel, because its prediction has ended. Callers may skip it if px_w.raised is
// NULL: what is left then does no harm. Main thread, GIL held; it may run Python code.
void px_cancel_forget(void);

extern PyMethodDef px_cancel_methods[];

// px_cancel_follows reports whether on_cancel handles the cancel signal. Any thread, no GIL.
bool px_cancel_follows(void);

#endif
