// process_end.c ends the worker when the front is gone.
#ifndef PROCESS_END_H
#define PROCESS_END_H

// px_end_all ends the worker, whose control channel is lost, and every process that it started. Any thread, without the
// GIL.
_Noreturn void px_end_all(void);

// px_await_end returns if the front is alive. If not, it waits for the control thread, which ends the worker with its
// descendants: an exit would leave those. Call it without the GIL.
void px_await_end(void);

#endif
