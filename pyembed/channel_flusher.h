// channel_flusher.c has the thread that sends what main was too busy to send.
#ifndef CHANNEL_FLUSHER_H
#define CHANNEL_FLUSHER_H

#include "channel_socket.h"

// px_flusher_start starts the thread that sends all that is queued when its timer fires, by flush, which returns false
// if something is left. look looks at what the watched prediction wrote, and returns false if none is watched. 0 or -1.
int px_flusher_start(bool (*flush)(struct px_channel *ch), bool (*look)(void));

// All functions below: any thread, with or without the GIL.

// px_flusher_abandon closes the timer in a forked child, which does not have the thread.
void px_flusher_abandon(void);

// px_flusher_arm_between makes the timer fire between two points of time, for what is queued in this channel.
void px_flusher_arm_between(struct px_channel *ch, uint64_t soonest, uint64_t latest);

// px_flusher_arm_for makes the timer fire for what was queued first in this channel, and only once for that: later
// frames must not postpone it.
void px_flusher_arm_for(struct px_channel *ch);

// px_flusher_arm_loop makes the timer fire for what is queued now in any channel. What was queued at the last call must
// be sent.
void px_flusher_arm_loop(void);

// px_flusher_watch makes the flusher check soon what the prediction px_w.log_watch wrote.
void px_flusher_watch(void);

#endif
