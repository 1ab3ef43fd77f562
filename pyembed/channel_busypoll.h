// channel_busypoll.c waits for a socket.
#ifndef CHANNEL_BUSYPOLL_H
#define CHANNEL_BUSYPOLL_H

#include <stdint.h>

// px_wait waits until fd is readable, for at most `most` ns; a negative number means no limit. It returns 1, 0 if the
// time is over, or -1 with errno. Call it without the GIL. It busy-polls if short_waits is not NULL: a counter that
// begins at 0, belongs to one thread, and is changed by px_wait only.
int px_wait(int fd, unsigned *short_waits, int64_t most);

#endif
