// What the side thread does.
#ifndef PX_CUDA_PROBE_H
#define PX_CUDA_PROBE_H

#include "px_cuda.h"

// The current step, which the report of a hanging start names.
enum px_cuda_step { PX_CUDA_LOADING, PX_CUDA_INITIALISING, PX_CUDA_LISTING, PX_CUDA_CONTEXT, PX_CUDA_STEPS };

// Called before each step; runs on the probing thread.
typedef void (*px_cuda_on_step)(enum px_cuda_step step);

// Returns the fix for a key, and sets state to the key's state; of unknown keys those of "other".
// Static memory; "" if there is no fix. Any thread once the fixes are set.
const char *px_cuda_fix(const char *key, int *state);

// Opens the driver, initialises it, lists the devices and retains the first one's primary
// context. Fills report, whose state is a final one afterwards. One thread, once; no context is
// current on that thread before or after.
void px_cuda_probe(const char *library, const char *device_node, px_cuda_on_step on_step,
                   struct px_cuda_report *report);

// Microseconds of CLOCK_MONOTONIC. Any thread.
int64_t px_cuda_now_us(void);

#endif
