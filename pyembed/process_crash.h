// process_crash.c tells the front which slot's thread crashed the worker.
#ifndef PROCESS_CRASH_H
#define PROCESS_CRASH_H

#include <stdint.h>

#include "channel_socket.h"
#include "base_python.h"

// px_crash_owner returns the prediction that this thread works for, or 0, and sets *slot to its slot, or NULL. It is
// async-signal-safe. px_crash_own sets both, for a thread that serves no slot. Any thread, no GIL.
uint64_t px_crash_owner(struct px_channel **slot);
void px_crash_own(struct px_channel *slot, uint64_t id);

// px_crash_stack gives this thread a stack for signal handlers, which is never freed; without memory it does nothing.
// No GIL.
void px_crash_stack(void);

extern PyMethodDef px_crash_methods[];

#endif
