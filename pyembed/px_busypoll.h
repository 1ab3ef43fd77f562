// px_busypoll.c waits for a socket.
#ifndef PX_BUSYPOLL_H
#define PX_BUSYPOLL_H

#include <stdint.h>

// px_wait waits until fd is readable, for at most `most` ns; < 0: without limit. 1; 0: the time is over; -1: see errno.
// No GIL. It busy-polls if short_waits is not NULL: the caller keeps that count for this alone, and sets it to 0 at
// first.
int px_wait(int fd, unsigned *short_waits, int64_t most);

#endif
