// channel_marks.c tells the front which bytes of the log pipes belong to which prediction.
#ifndef CHANNEL_MARKS_H
#define CHANNEL_MARKS_H

#include <stdbool.h>
#include <stdint.h>

#include "channel_socket.h"

// px_log_positions sets at[] to how many bytes were ever written to each of the two pipes. Any thread.
void px_log_positions(uint64_t at[2]);

// px_log_mark tells the front that what the pipes hold up to here belongs to id. Without new text it sends nothing. Any
// thread. 0, or -1 without memory. px_log_mark_locked is the same with log_mu held; traceback: the text since the previous
// mark ends with the traceback.
int px_log_mark(struct px_channel *ch, uint64_t id);
int px_log_mark_locked(struct px_channel *ch, uint64_t id, bool traceback);

#endif
