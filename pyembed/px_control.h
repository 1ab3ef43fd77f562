// px_control.c reads the control socket.
#ifndef PX_CONTROL_H
#define PX_CONTROL_H

#include <stdint.h>

// px_control_start starts the control thread. 0, or -1 with errno.
int px_control_start(void);

// px_cuda_reporter_start starts a thread that sends the front the report of CUDA's start, and ends. Without CUDA it
// does nothing. 0, or -1 with errno.
int px_cuda_reporter_start(void);

// px_wait_slots waits until the front has passed n slot sockets, or wants the worker to stop. It returns how many there
// are. Call it without the GIL.
int px_wait_slots(int n);

// px_wait_health waits until the front asks for the model's own health check. It returns the request's id, or 0 if the
// worker is to stop. Call it without the GIL.
uint64_t px_wait_health(void);

#endif
