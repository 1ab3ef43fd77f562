// px_end.c ends the worker when the front is gone.
#ifndef PX_END_H
#define PX_END_H

// px_end_all ends the worker, whose control channel is lost, and every process that it started. Any thread, no GIL.
_Noreturn void px_end_all(void);

// px_await_end returns unless the front is gone: then the control thread ends the worker with its descendants, which an
// exit would leave.
void px_await_end(void);

#endif
