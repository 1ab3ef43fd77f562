// px_cancel.c handles the signal that cancels predictions.
#ifndef PX_CANCEL_H
#define PX_CANCEL_H

#include <stdbool.h>

#include "px_python.h"

// px_cancel_forget ends what the handler of the cancel signal has begun: the prediction has ended. GIL held.
// px_w.raised is set where there is anything to forget but a note.
void px_cancel_forget(void);

extern PyMethodDef px_cancel_methods[];

// px_cancel_follows tells whether on_cancel handles the cancel signal. Any thread.
bool px_cancel_follows(void);

#endif
