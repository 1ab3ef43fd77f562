// px_logs.c tells which bytes of the log pipes belong to which prediction.
#ifndef PX_LOGS_H
#define PX_LOGS_H

#include <stdbool.h>
#include <stdint.h>

#include "px_channel.h"

// px_logs_init duplicates the log pipes. 0 or -1.
int px_logs_init(void);

// px_logs_load looks up what flushes need of Python. GIL held. 0, or -1 with an exception.
int px_logs_load(void);

// px_flush_stdio flushes sys.stdout, sys.stderr and C's streams. GIL held. A set exception stays set; errors of the
// model's own streams are dropped.
void px_flush_stdio(void);

// px_flush_c flushes C's stdout and stderr. Any thread.
void px_flush_c(void);

// px_log_positions returns how many bytes were ever written to the two pipes. Any thread.
void px_log_positions(uint64_t at[2]);

// px_log_look marks what id wrote before what comes next. GIL held. 0, or -1 with an exception.
int px_log_look(struct px_channel *ch, uint64_t id);

// px_log_mark tells the front that what the pipes hold up to here belongs to id. Without new text it sends nothing. 0,
// or -1 without memory. px_log_mark_locked is the same with log_mu held.
int px_log_mark(struct px_channel *ch, uint64_t id);
int px_log_mark_locked(struct px_channel *ch, uint64_t id);

// px_log_end is the last px_log_mark of id, before its answer. failed: the text since the mark before ends with the
// traceback.
int px_log_end(struct px_channel *ch, uint64_t id, bool failed);

// px_log_idle marks what was written since the last prediction ended as unattributed: threads and children of an
// earlier prediction may still write. It is called before the next prediction begins, and does nothing with several
// slots, where Python separates the text. GIL held; no exception. 0, or -1 without memory.
int px_log_idle(struct px_channel *ch);

// px_log_watch makes the flusher mark what id writes as it comes. px_log_unwatch ends that, before the last mark of id.
// With one slot only.
void px_log_watch(uint64_t id);
void px_log_unwatch(void);

// px_log_live marks what the watched prediction wrote, for the flusher. false: none is watched.
bool px_log_live(void);

#endif
