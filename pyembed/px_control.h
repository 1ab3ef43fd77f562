// px_control.c reads the control socket.
#ifndef PX_CONTROL_H
#define PX_CONTROL_H

#include <stdint.h>

// px_control_start starts the control thread. 0 or -1.
int px_control_start(void);

// px_cuda_reporter_start starts a thread that sends the front the report of CUDA's start, and ends. 0 or -1.
int px_cuda_reporter_start(void);

// px_wait_slots waits until the front has passed n slot sockets. No GIL. Their number; less than n if the worker is to
// leave.
int px_wait_slots(int n);

// px_wait_health waits until the front asks for the model's own check. No GIL. The question's id, or 0 if the worker is
// to leave.
uint64_t px_wait_health(void);

#endif
