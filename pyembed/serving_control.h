// serving_control.c reads the control socket.
#ifndef SERVING_CONTROL_H
#define SERVING_CONTROL_H

#include <stdint.h>

// px_connect sets up the connection to the front. stdout and stderr must be the log pipes. 0, or 1 after a line on
// stderr.
int px_connect(int control_fd, int page_fd);

// px_start_threads starts our threads with every signal blocked: Python's signals are for its main thread. 0, or -1
// with errno.
int px_start_threads(void);

// px_failed prints a line on stderr: what could not be done, and errno. It returns 1.
int px_failed(const char *what);

// px_wait_health waits until the front asks for the model's own health check. It returns the request's id, or 0 if the
// worker is to stop. Call it without the GIL.
uint64_t px_wait_health(void);

#endif
