// px_crash.c notes which prediction a thread crashed for.
#ifndef PX_CRASH_H
#define PX_CRASH_H

#include <stdint.h>

#include "px_channel.h"
#include "px_python.h"

// px_crash_owner returns the prediction that this thread works for, or 0, and its slot. px_crash_own makes it work for
// one.
uint64_t px_crash_owner(struct px_channel **slot);
void px_crash_own(struct px_channel *slot, uint64_t id);

// px_crash_stack gives this thread a stack for handlers of signals.
void px_crash_stack(void);

extern PyMethodDef px_crash_methods[];

#endif
