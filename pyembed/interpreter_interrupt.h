// The threads of slots, and how a prediction on one of them is interrupted.
//
// Python runs signal handlers on the main thread only, so no signal can raise an exception in another thread. Main waits
// in interrupts() for the front's PX_INTERRUPT, and has Python raise the exception at the thread's next bytecode
// (PyThreadState_SetAsyncExc). A thread that waits in a system call also gets PX_WAKE: the functions of interpreter_waits.c then
// return early to Python's code.
#ifndef INTERPRETER_INTERRUPT_H
#define INTERPRETER_INTERRUPT_H

#include <stdbool.h>
#include <stdint.h>

#include "channel_socket.h"
#include "base_python.h"
#include "channel_worker.h"

// px_interrupt_wake makes main look for predictions to interrupt, and for threads that have ended. Any thread, no GIL.
void px_interrupt_wake(void);

// px_thread_serves makes this thread that of a slot; px_thread_ended undoes it. GIL held.
void px_thread_serves(struct px_channel *ch);
void px_thread_ended(struct px_channel *ch);

// px_interrupt_allow lets main interrupt this prediction of this thread. GIL held. 0, or -1 with the exception set if
// the prediction is canceled already.
int px_interrupt_allow(struct px_channel *ch, uint64_t id);

// px_interrupt_forbid undoes px_interrupt_allow. It returns true if the prediction was interrupted and the exception
// was not raised. GIL held.
bool px_interrupt_forbid(struct px_channel *ch);

// px_interrupt_pending tells whether an exception is still to be raised in this thread. Any thread, no GIL.
static inline bool px_interrupt_pending(void) { return px_own_slot && atomic_load(&px_own_slot->interrupted); }

// px_interrupt_raise raises the pending exception now, with the thread's own frame on top. GIL held.
void px_interrupt_raise(void);

// px_interrupt_check raises the exception if it is pending; on main it lets Python handle signals. GIL held. 0, or -1
// with an exception.
int px_interrupt_check(void);

// px_interrupt_again makes main raise the exception once more, after C code dropped it. GIL held. It returns false if
// this thread serves no slot, or the exception is another.
bool px_interrupt_again(PyObject *dropped);

extern PyMethodDef px_interrupt_methods[];

#endif
