// interpreter_logs.c flushes what a prediction has written, and marks it as its own.
#ifndef INTERPRETER_LOGS_H
#define INTERPRETER_LOGS_H

#include <stdbool.h>
#include <stdint.h>

#include "channel_socket.h"

// px_logs_init duplicates the log pipes. Before there are other threads. 0, or -1 with errno.
int px_logs_init(void);

// px_logs_load prepares the flushes of Python's streams. GIL held. 0, or -1 with an exception.
int px_logs_load(void);

// px_flush_stdio flushes sys.stdout, sys.stderr and C's streams. GIL held. A set exception stays set; errors of the
// model's own streams are dropped.
void px_flush_stdio(void);

// px_flush_c flushes C's stdout and stderr. Any thread, with or without the GIL.
void px_flush_c(void);

// px_log_look marks what id wrote so far, before an event of id is sent. GIL held. 0, or -1 with an exception.
int px_log_look(struct px_channel *ch, uint64_t id);

// px_log_end is the last px_log_mark of id, before its answer. Returns as px_log_mark.
int px_log_end(struct px_channel *ch, uint64_t id);

// px_log_idle marks what was written since the last prediction ended as unattributed: threads and children of an
// earlier prediction may still write. It is called before the next prediction begins, and does nothing with several
// slots, where Python separates the text. GIL held; no exception. 0, or -1 without memory.
int px_log_idle(struct px_channel *ch);

// px_log_watch makes the flusher mark what id writes as it comes. px_log_unwatch ends that, before the last mark of id.
// Use them with one slot only. Any thread.
void px_log_watch(uint64_t id);
void px_log_unwatch(void);

// px_log_live marks what the watched prediction wrote. It returns false if none is watched. The flusher, no GIL.
bool px_log_live(void);

#endif
