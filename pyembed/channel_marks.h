// channel_marks.c tells the front which bytes of the log pipes belong to which prediction.
#ifndef CHANNEL_MARKS_H
#define CHANNEL_MARKS_H

#include <stddef.h>
#include <stdint.h>

#include "channel_socket.h"

// px_log_positions sets at[] to how many bytes were ever written to each of the two pipes. Any thread.
void px_log_positions(uint64_t at[2]);

// px_log_mark tells the front that what the pipes hold up to here belongs to id. Without new text it sends nothing. Any
// thread. 0, or -1 without memory. px_log_mark_locked is the same with log_mu held.
int px_log_mark(struct px_channel *ch, uint64_t id);
int px_log_mark_locked(struct px_channel *ch, uint64_t id);

#define PX_RECORD_MAX 500  // bytes of about

// px_log_record tells the front that the next size bytes that the caller writes to a stream (0 or 1) are one record of
// the server's log. about is members of the frame's body. GIL held, and what Python's stream holds flushed. Returns as
// px_log_mark.
int px_log_record(struct px_channel *ch, uint64_t id, int stream, size_t size, const char *about);

#endif
